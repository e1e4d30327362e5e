import jax
import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        def both(a, b):
            qml.X(0)
            return a + b

        jax.lax.associative_scan(both, jnp.ones(n))
        return qml.probs()

    circuit(0.1, 4)
