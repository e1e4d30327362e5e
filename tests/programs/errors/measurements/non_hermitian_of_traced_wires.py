import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(i):
        return qml.expval(qml.X(i) @ qml.Z(1))

    circuit(1)
