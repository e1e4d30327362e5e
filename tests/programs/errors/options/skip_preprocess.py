import diastase


def program():
    diastase.qjit(lambda x: x, skip_preprocess=True)
