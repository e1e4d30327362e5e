import numpy as np
import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit(matrix):
        qml.QubitDensityMatrix(matrix, wires=0)
        return qml.expval(qml.Z(0))

    circuit(np.array([[0.5, 0.5], [0.0, 0.5]]))
