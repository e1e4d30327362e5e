import pennylane as qml

from diastase import adjoint, for_loop, qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        @for_loop(0, n, 1)
        def layer(i):
            qml.RX(x, i)

        adjoint(layer)()
        return qml.probs()

    circuit(0.1, 5)
