from diastase import debug, qjit


def program():
    f = qjit(lambda x: x + 1)
    debug.get_cmain(f, "one")
