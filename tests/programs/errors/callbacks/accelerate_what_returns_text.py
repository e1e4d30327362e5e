from diastase import accelerate, qjit


def program():
    def describe(x):
        return "large"

    @qjit
    def f(x):
        return accelerate(describe)(x)

    f(1.0)
