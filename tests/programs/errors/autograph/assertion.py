from diastase import qjit


@qjit(autograph=True)
def root(x):
    assert x >= 0, "x is negative"
    return x**0.5


def program():
    root(-1.0)
