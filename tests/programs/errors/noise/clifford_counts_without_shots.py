import pennylane as qml

from diastase import qjit


def program():
    @qjit(method="clifford")
    @qml.qnode(qml.device("default.mixed", wires=2))
    def coin():
        qml.Hadamard(0)
        return qml.expval(qml.Z(0)), qml.counts(wires=0)

    coin()
