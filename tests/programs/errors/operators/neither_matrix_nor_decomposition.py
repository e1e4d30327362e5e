import pennylane as qml

from diastase import qjit


class Oracle(qml.operation.Operation):
    num_wires = 2


@qml.qnode(qml.device("default.qubit", wires=2))
def circuit():
    Oracle(wires=[0, 1])
    return qml.probs()


def program():
    qjit(circuit)()
