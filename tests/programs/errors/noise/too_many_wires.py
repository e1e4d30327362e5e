import pennylane as qml

from diastase import qjit


def program():
    @qjit(method="density")
    @qml.qnode(qml.device("lightning.qubit", wires=40))
    def circuit(p):
        qml.BitFlip(p, wires=0)
        return qml.expval(qml.Z(0))

    circuit(0.1)
