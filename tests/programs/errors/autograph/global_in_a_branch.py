from diastase import qjit

largest = 0.0


@qjit(autograph=True)
def f(x):
    global largest
    if x > largest:
        largest = x
    return x


def program():
    f(1.0)
