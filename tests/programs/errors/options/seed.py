import diastase


def program():
    diastase.qjit(lambda x, y: x, seed=-1)
