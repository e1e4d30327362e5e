import math

from diastase import qjit


def program():
    @qjit
    def sine(x):
        return math.sin(x)

    sine(1.0)
