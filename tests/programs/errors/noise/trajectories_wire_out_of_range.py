import pennylane as qml

from diastase import qjit


@qjit(method="trajectories")
@qml.qnode(qml.device("default.mixed", wires=2))
def circuit(wire):
    qml.BitFlip(0.1, wires=wire)
    return qml.expval(qml.Z(0))


def program():
    circuit(3)
