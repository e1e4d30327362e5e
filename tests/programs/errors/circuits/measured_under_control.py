import pennylane as qml

from diastase import ctrl, for_loop, measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        @for_loop(0, n, 1)
        def rounds(i):
            qml.RX(x, i)
            measure(i)

        ctrl(rounds, control=2)()
        return qml.probs()

    circuit(0.1, 2)
