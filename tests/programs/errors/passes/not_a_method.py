import pennylane as qml

from diastase import passes, qjit


def program():
    @qjit
    @passes.ppr_to_ppm(decompose_method="by-hand")
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        qml.T(0)
        return qml.expval(qml.Z(0))

    circuit()
