import numpy as np

from diastase import qjit


def program():
    qjit(lambda x: x, pipelines=np.arange(3))
