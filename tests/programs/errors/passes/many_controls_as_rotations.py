import pennylane as qml

from diastase import passes, qjit


def program():
    @qjit
    @passes.to_ppr
    @qml.qnode(qml.device("lightning.qubit", wires=13))
    def circuit():
        qml.MultiControlledX(wires=range(13))
        return qml.expval(qml.Z(0))

    circuit()
