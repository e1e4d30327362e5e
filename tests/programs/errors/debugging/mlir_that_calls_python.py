from diastase import debug, qjit


def program():
    @qjit
    def f(x: float):
        debug.print("{}", x)
        return x

    debug.compile_from_mlir(f.mlir)
