import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(first, second):
        qml.CNOT(wires=[first, second])
        return qml.expval(qml.PauliZ(0))

    circuit(1, 1)
