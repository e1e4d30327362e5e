from diastase import debug, qjit


def program():
    @qjit
    def f(x: float):
        debug.print_memref((x, x))

    return f
