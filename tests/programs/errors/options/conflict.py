import diastase


def program():
    diastase.qjit(lambda x, y: x, autograph_include=["os"])
