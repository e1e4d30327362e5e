from diastase import debug, qjit


def program():
    @qjit
    def f(x):
        debug.print("x = {}", x)
        return x

    debug.get_cmain(f, 1.0)
