import pennylane as qml

from diastase import passes


def program():
    @passes.gridsynth(epsilon=0)
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x):
        qml.RZ(x, 0)
        return qml.state()

    circuit(0.3)
