from diastase import measure, qjit


def coin():
    return measure(0)


def program():
    qjit(coin)()
