import pennylane as qml

from diastase import ctrl, qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        ctrl(qml.RX(x, 0), control=1, control_values=n)
        return qml.probs()

    circuit(0.1, 1)
