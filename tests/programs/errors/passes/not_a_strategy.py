import pennylane as qml

from diastase import passes


def program():
    @passes.split_non_commuting(grouping_strategy="by wire")
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return qml.expval(qml.X(0)), qml.expval(qml.Z(0))

    circuit()
