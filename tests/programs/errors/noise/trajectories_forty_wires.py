import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("lightning.qubit", wires=40))
def circuit():
    qml.BitFlip(0.1, wires=0)
    return qml.expval(qml.Z(0))


def program():
    qjit(circuit, method="trajectories")()
