import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=2))
    def circuit(p):
        qml.ctrl(qml.BitFlip(p, wires=0), control=1)
        return qml.expval(qml.Z(0))

    circuit(0.1)
