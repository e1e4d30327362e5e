import numpy as np
import pennylane as qml

from diastase import qjit


class Loss(qml.operation.Channel):
    num_wires = 1

    @staticmethod
    def compute_kraus_matrices(p):
        return [np.diag([1, np.sqrt(1 - p)])]


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit():
        Loss(0.1, wires=0)
        return qml.expval(qml.Z(0))

    circuit()
