import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        qml.ctrl(qml.RX, control=[0, 1], control_values=[1])(x, wires=2)
        return qml.probs()

    circuit(0.1, 2)
