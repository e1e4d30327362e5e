from diastase import qjit


@qjit(autograph=True)
def name(x):
    match x:
        case 0:
            return 1
        case _:
            return 2


def program():
    name(3)
