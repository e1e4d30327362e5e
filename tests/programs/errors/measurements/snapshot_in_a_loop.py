import pennylane as qml

from diastase import for_loop, qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        @for_loop(0, 3, 1)
        def layers(i):
            qml.RX(0.1 * i, wires=0)
            qml.Snapshot()

        layers()
        return qml.probs()

    circuit()
