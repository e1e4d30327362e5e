import pennylane as qml

import diastase


@qml.qnode(qml.device("reference.qubit", wires=1))
def circuit():
    return qml.expval(qml.Z(0))


def program():
    diastase.qjit(circuit, method="density")()
