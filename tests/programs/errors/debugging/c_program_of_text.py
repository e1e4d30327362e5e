from diastase import debug, qjit


def program():
    debug.get_cmain(qjit(lambda x: x), "one")
