import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.set_shots(100)
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        qml.Hadamard(0)
        return qml.counts(), qml.state()

    circuit()
