import pennylane as qml

from diastase import measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1), shots=10)
    def circuit():
        qml.Hadamard(0)
        measure(0)
        qml.Snapshot()
        return qml.probs()

    circuit()
