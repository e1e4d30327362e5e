import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("default.qubit", wires=2))
def circuit():
    qml.X(0) + qml.Z(1)
    return qml.probs()


def program():
    qjit(circuit)()
