import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=11))
    def circuit():
        return qml.var(qml.Projector([0] * 11, wires=range(11)))

    circuit()
