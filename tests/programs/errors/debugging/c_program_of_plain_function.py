from diastase import debug


def program():
    debug.compile_executable(lambda x: x, 1.0)
