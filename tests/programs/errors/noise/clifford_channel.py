import pennylane as qml

from diastase import qjit


@qjit(method="clifford")
@qml.qnode(qml.device("default.mixed", wires=1))
def circuit(strength):
    qml.AmplitudeDamping(strength, wires=0)
    return qml.expval(qml.Z(0))


def program():
    return circuit(0.1)
