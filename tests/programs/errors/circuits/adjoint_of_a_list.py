import pennylane as qml

from diastase import adjoint, qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        adjoint([qml.RX(x, 0), qml.S(1)])
        return qml.probs()

    circuit(0.1, 1)
