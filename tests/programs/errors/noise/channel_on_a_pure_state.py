import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(p):
        qml.DepolarizingChannel(p, wires=0)
        return qml.expval(qml.Z(0))

    circuit(0.1)
