import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("default.qubit", wires=1))
def circuit():
    qml.Hadamard(0)
    return qml.state()


def program():
    return qjit(circuit, method="clifford")()
