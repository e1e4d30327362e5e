from diastase import qjit

seen = []


@qjit
def square(x):
    seen.append(x)
    return x * x


def program():
    square(2.0)
    square(seen[0])
