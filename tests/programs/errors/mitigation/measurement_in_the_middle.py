import pennylane as qml

from diastase import measure, mitigate_with_zne, qjit


def program():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        qml.Hadamard(0)
        measure(0)
        return qml.expval(qml.Z(0))

    qjit(mitigate_with_zne(circuit, scale_factors=[1, 3]))()
