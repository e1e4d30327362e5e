import pennylane as qml

from diastase import measure, qjit


@qml.qnode(qml.device("lightning.qubit", wires=2))
def corrected():
    qml.Hadamard(0)
    angle = [0.1, 0.2][measure(0)]
    qml.RX(angle, wires=1)
    return qml.state()


def program():
    qjit(corrected)()
