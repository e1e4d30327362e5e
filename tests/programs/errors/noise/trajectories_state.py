import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("default.mixed", wires=1))
def circuit():
    qml.BitFlip(0.1, wires=0)
    return qml.state()


def program():
    qjit(circuit, method="trajectories")()
