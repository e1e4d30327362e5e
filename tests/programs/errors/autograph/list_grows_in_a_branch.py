from diastase import qjit


@qjit(autograph=True)
def collect(x):
    found = []
    if x > 0:
        found.append(x)
    return found


def program():
    collect(1.0)
