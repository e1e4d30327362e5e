from diastase import qjit


@qjit(autograph=True)
def first(x):
    for name in {"a": 1, "b": 2}:
        x = x * len(name) * 2
        if x > 3:
            break
    return x


def program():
    first(1.0)
