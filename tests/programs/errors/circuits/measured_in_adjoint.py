import pennylane as qml

from diastase import adjoint, measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        def prepare():
            qml.RX(x, 0)
            measure(0)

        adjoint(prepare)()
        return qml.probs()

    circuit(0.1, 2)
