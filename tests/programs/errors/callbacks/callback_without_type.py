import numpy as np

from diastase import pure_callback, qjit


def program():
    @qjit
    def f(x: float):
        return pure_callback(np.sinc)(x)

    return f
