from diastase import qjit


@qjit(autograph=True)
def dot(n):
    weights = [0.1, 0.2]
    total = 0.0
    for i in range(n):
        total += weights[i]
    return total


def program():
    dot(2)
