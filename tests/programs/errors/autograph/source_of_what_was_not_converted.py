from diastase import autograph_source


def plain(x):
    return x


def program():
    autograph_source(plain)
