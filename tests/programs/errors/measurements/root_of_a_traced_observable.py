import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(x):
        return qml.var(qml.pow(x * qml.X(0) + qml.Z(1), 0.5))

    circuit(0.3)
