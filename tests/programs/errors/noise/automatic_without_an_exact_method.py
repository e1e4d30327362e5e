import pennylane as qml

from diastase import qjit


@qjit(method="automatic")
@qml.qnode(qml.device("default.mixed", wires=20))
def circuit(angle):
    qml.RX(angle, 0)
    qml.DepolarizingChannel(0.1, wires=0)
    return qml.expval(qml.Z(0))


def program():
    return circuit(0.3)
