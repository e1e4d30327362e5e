import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(wire):
        qml.PauliX(wires=wire)
        return qml.expval(qml.PauliZ(0))

    circuit(7)
