from diastase import qjit


def program():
    qjit(lambda steps: sum(steps))(range(3))
