from diastase import accelerate, qjit


def program():
    def absolute(x):
        return x if x > 0 else -x

    @qjit
    def f(x: float):
        return accelerate(absolute)(x)

    return f
