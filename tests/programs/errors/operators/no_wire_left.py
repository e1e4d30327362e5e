import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("default.qubit", wires=3))
def circuit():
    qml.CNOT([0, 1])
    qml.allocate(2)
    return qml.probs(wires=0)


def program():
    qjit(circuit)()
