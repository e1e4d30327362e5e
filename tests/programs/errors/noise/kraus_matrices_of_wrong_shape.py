import numpy as np
import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=2))
    def circuit():
        qml.QubitChannel([np.eye(4)], wires=0)
        return qml.expval(qml.Z(0))

    circuit()
