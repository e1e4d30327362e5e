import numpy as np

from diastase import qjit


def program():
    qjit(lambda data: data.sum())(np.ma.array([1.0, 2.0], mask=[False, True]))
