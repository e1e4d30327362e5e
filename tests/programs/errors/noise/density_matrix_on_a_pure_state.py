import numpy as np
import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit():
        qml.QubitDensityMatrix(np.eye(2) / 2, wires=0)
        return qml.expval(qml.Z(0))

    circuit()
