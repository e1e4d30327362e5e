import pennylane as qml

from diastase import qjit


@qjit(method="clifford")
@qml.set_shots(10)
@qml.qnode(qml.device("default.qubit", wires=1))
def circuit(p):
    qml.BitFlip(p, wires=0)
    return qml.sample(wires=0)


def program():
    return circuit(1.5)
