import numpy as np
import pennylane as qml

from diastase import qjit


class Careful(qml.operation.Channel):
    num_wires = 1

    @staticmethod
    def compute_kraus_matrices(p):
        if p > 1:
            raise ValueError
        return [np.eye(2)]


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit(p):
        Careful(p, wires=0)
        return qml.expval(qml.Z(0))

    circuit(0.1)
