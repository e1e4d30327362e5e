from diastase import debug


def program():
    debug.get_compilation_stage(lambda x: x, "mlir")
