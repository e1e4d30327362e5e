import pennylane as qml

from diastase import mitigate_with_zne, qjit


def program():
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit():
        qml.Hadamard(0)
        qml.BitFlip(0.1, wires=0)
        return qml.expval(qml.Z(0))

    qjit(mitigate_with_zne(circuit, scale_factors=[1, 3]))()
