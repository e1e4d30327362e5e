from diastase import qjit


@qjit(autograph=True)
def gather(n):
    found = ()
    for i in range(n):
        found = (*found, i)
    return found


def program():
    gather(3)
