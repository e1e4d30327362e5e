import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("lightning.qubit", wires=2))
def pair():
    qml.Hadamard(0)
    qml.CNOT([0])
    return qml.state()


def program():
    qjit(pair)()
