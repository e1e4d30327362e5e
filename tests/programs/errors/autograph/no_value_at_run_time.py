from diastase import qjit


@qjit(autograph=True)
def last(n):
    for i in range(n):
        found = 2 * i
    return found


def program():
    last(0)
