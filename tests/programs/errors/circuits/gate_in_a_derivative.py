import jax
import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        def energy(y):
            qml.RX(y, 0)
            return y**2

        qml.RZ(jax.grad(energy)(x), 1)
        return qml.probs()

    circuit(0.1, 1)
