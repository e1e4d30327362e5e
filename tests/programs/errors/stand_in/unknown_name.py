import diastase


def program():
    return diastase.QJit
