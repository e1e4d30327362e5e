import numpy as np
import pennylane as qml

from diastase import qjit


@qjit(method="trajectories")
@qml.qnode(qml.device("default.mixed", wires=2))
def circuit(p):
    qml.QubitChannel([p * np.eye(2)], wires=[0, 1])
    return qml.expval(qml.Z(0))


def program():
    circuit(1.0)
