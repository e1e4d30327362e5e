import pennylane as qml

from diastase import passes, qjit


def program():
    @qjit
    @passes.measurements_from_samples
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return qml.expval(qml.X(0))

    circuit()
