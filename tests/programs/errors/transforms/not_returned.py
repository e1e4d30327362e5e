import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.transforms.commute_controlled
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        qml.expval(qml.X(0))
        return qml.expval(qml.Z(0))

    circuit()
