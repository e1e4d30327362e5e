import diastase


def program():
    diastase.qjit(lambda x, y: x, statik_argnums=1)
