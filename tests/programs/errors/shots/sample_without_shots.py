import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def coin():
        qml.Hadamard(0)
        return qml.sample()

    coin()
