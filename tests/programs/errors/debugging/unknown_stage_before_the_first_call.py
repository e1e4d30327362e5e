from diastase import debug, qjit


def program():
    debug.get_compilation_stage(qjit(lambda x: x), "Bufferisation")
