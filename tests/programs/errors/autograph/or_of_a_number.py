from diastase import qjit


@qjit(autograph=True)
def default(x):
    return x or 1.0


def program():
    default(0.0)
