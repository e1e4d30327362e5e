import pennylane as qml

from diastase import qjit


@qjit(method="trajectories")
@qml.qnode(qml.device("default.mixed", wires=1))
def circuit(p):
    qml.DepolarizingChannel(p, wires=0)
    return qml.expval(qml.Z(0))


def program():
    circuit(1.5)
