from diastase import debug, qjit


def program():
    @qjit
    def f(x: float):
        debug.callback(print("x =", x))
        return x

    f(3.0)
