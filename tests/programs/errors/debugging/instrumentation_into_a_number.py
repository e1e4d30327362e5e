from diastase import debug


def program():
    with debug.instrumentation("session", filename=3):
        pass
