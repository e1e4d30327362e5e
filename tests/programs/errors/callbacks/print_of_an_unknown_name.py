from diastase import debug, qjit


def program():
    @qjit
    def f(x):
        debug.print("x = {y:.2f}", x=x)
        return x

    f(1.0)
