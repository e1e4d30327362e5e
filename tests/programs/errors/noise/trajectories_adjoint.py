import pennylane as qml

from diastase import adjoint, qjit


def noise():
    qml.BitFlip(0.1, wires=0)


@qml.qnode(qml.device("default.mixed", wires=1))
def circuit():
    adjoint(noise)()
    return qml.expval(qml.Z(0))


def program():
    qjit(circuit, method="trajectories")()
