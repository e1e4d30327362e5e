import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1), shots=10)
    def circuit():
        qml.Hadamard(0)
        qml.Snapshot(measurement=qml.expval(qml.Z(0)))
        return qml.probs()

    circuit()
