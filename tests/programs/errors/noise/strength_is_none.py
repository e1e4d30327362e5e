import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit():
        qml.BitFlip(None, wires=0)
        return qml.expval(qml.Z(0))

    circuit()
