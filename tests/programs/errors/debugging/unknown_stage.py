from diastase import debug, qjit


def program():
    f = qjit(lambda x: x)
    f(1.0)
    debug.get_compilation_stage(f, "Enzyme")
