import pennylane as qml

from diastase import mitigate_with_zne, qjit


def program():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    inner = mitigate_with_zne(circuit, scale_factors=[1, 3])

    @qjit
    def outer(x):
        return mitigate_with_zne(lambda x: inner(x) ** 2, scale_factors=[1, 3, 5])(x)

    outer(0.3)
