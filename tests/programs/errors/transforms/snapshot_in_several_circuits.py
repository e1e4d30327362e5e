import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.transforms.split_non_commuting(shot_dist="uniform")
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        qml.Hadamard(0)
        qml.Snapshot()
        return qml.expval(qml.X(0) + qml.Z(0))

    circuit()
