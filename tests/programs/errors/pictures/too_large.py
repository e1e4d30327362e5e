import pennylane as qml

from diastase import for_loop, qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(n: int):
        for_loop(0, n, 1)(lambda i: qml.Hadamard(0))()
        return qml.state()

    qml.draw(circuit, unroll=True)(1_000_000)
