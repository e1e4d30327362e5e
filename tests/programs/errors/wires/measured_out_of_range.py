import pennylane as qml

from diastase import measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(wire):
        measure(wire)
        return qml.expval(qml.PauliZ(0))

    circuit(-1)
