import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit():
        qml.PauliX(wires=7)
        return qml.expval(qml.PauliZ(0))

    circuit()
