import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        qml.RX(qml.grad(lambda y: y**2, method="parameter-shift")(x), 0)
        return qml.probs()

    circuit(0.1, 4)
