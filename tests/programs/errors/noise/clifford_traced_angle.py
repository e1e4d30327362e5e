import pennylane as qml

from diastase import qjit


@qjit(method="clifford")
@qml.qnode(qml.device("default.qubit", wires=1))
def circuit(angle):
    qml.RX(angle, 0)
    return qml.expval(qml.Z(0))


def program():
    return circuit(0.0)
