import pennylane as qml

from diastase import mitigate_with_zne, qjit


def program():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return {"mean": qml.expval(qml.Z(0)), "all": qml.probs()}

    qjit(mitigate_with_zne(circuit, scale_factors=[1, 3]))()
