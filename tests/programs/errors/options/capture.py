import diastase


def program():
    diastase.qjit(lambda x, y: x, capture="always")
