from diastase import debug


def program():
    debug.compile_from_mlir("module {}")
