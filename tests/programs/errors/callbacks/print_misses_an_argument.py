from diastase import debug, qjit


def program():
    @qjit
    def f(x):
        debug.print("x = {}, twice as much is {}", x)
        return x

    f(1.0)
