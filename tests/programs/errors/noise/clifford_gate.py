import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("default.qubit", wires=1))
def circuit():
    qml.Hadamard(0)
    qml.T(0)
    return qml.expval(qml.X(0))


def program():
    return qjit(circuit, method="clifford")()
