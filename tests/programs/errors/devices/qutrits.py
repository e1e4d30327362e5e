import pennylane as qml

from diastase import qjit


def program():
    @qml.qnode(qml.device("default.qutrit", wires=1))
    def circuit(x):
        qml.TRX(x, wires=0)
        return qml.expval(qml.GellMann(0, 3))

    @qjit
    def cost(x: float):
        return circuit(x) ** 2

    cost(0.1)
