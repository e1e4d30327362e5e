from diastase import debug, qjit


def program():
    f = qjit(lambda x: x + 1)
    f(1.0)
    debug.get_compilation_stage(f, ["mlir", "scalars"])
