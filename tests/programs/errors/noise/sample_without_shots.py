import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=2))
    def coin():
        qml.Hadamard(0)
        qml.BitFlip(0.1, wires=0)
        return qml.sample()

    coin()
