import pennylane as qml

from diastase import qjit


def program():
    @qjit(seed=0)
    @qml.qnode(qml.device("lightning.qubit", wires=1), shots=10)
    def circuit():
        qml.X(0)
        return qml.counts()

    return dict(zip(*circuit()))  # noqa: B905
