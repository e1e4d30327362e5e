import pennylane as qml

from diastase import mitigate_with_zne


def program():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return qml.expval(qml.Z(0))

    mitigate_with_zne(circuit, scale_factors=[1, 1.5])
