from diastase import debug, qjit


def program():
    def square(x):
        return x**2

    @qjit
    def f(x: float):
        debug.callback(square)(x)
        return x

    f(3.0)
