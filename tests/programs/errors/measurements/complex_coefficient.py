import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(x):
        return qml.expval(1j * x * qml.X(0))

    circuit(0.3)
