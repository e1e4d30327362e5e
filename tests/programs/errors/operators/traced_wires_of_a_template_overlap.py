import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("default.qubit", wires=3))
def circuit(wire):
    qml.AngleEmbedding([0.1, 0.2], wires=[0, wire])
    return qml.probs()


def program():
    qjit(circuit)(0)
