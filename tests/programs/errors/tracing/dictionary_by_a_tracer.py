from diastase import qjit


@qjit
def price(kind):
    return {0: 1.5, 1: 2.5}[kind]


def program():
    price(1)
