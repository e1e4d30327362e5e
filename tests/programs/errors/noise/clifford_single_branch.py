import pennylane as qml

from diastase import measure, qjit


@qml.qnode(qml.device("default.qubit", wires=1))
def circuit():
    qml.Hadamard(0)
    measure(0)
    return qml.expval(qml.Z(0))


def program():
    return qjit(circuit, method="clifford")()
