import pennylane as qml

from diastase import grad, qjit


@qml.qnode(qml.device("default.mixed", wires=1))
def circuit(x):
    qml.RX(x, wires=0)
    qml.AmplitudeDamping(0.1, wires=0)
    return qml.expval(qml.Z(0))


def program():
    qjit(grad(circuit), method="trajectories")(0.3)
