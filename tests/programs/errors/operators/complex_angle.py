import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("default.qubit", wires=1))
def circuit(angle):
    qml.RX(1j * angle, wires=0)
    return qml.probs()


def program():
    qjit(circuit)(0.3)
