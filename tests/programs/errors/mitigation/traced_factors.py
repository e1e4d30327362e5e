import pennylane as qml

from diastase import mitigate_with_zne, qjit


def program():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return qml.expval(qml.Z(0))

    @qjit
    def workflow(factors):
        return mitigate_with_zne(circuit, scale_factors=factors)()

    workflow([1, 3, 5])
