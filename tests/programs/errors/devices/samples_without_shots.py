import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("reference.qubit", wires=1))
    def circuit():
        return qml.sample(wires=0)

    circuit()
