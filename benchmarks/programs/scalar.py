"""One line of classical code, from a scalar to a scalar."""


def classical(number=0):
    factor = 2.0 + number
    return lambda x: x * factor + 1.0, (1.5,)
