import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("default.qubit", wires=3))
def circuit():
    with qml.allocate(1) as wires:
        qml.X(wires[0])
    qml.CNOT([0, wires[0]])
    return qml.probs(wires=0)


def program():
    qjit(circuit)()
