import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.transforms.commute_controlled
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(wire):
        qml.X(wire)
        qml.Hadamard(0)
        qml.X(wire)
        return qml.expval(qml.Z(0))

    circuit(0)
