import jax
import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x: float, n: int):
        def step(angle, row):
            qml.RX(angle, 0)
            return jnp.stack([angle, row]), None

        jax.lax.scan(step, x, jnp.ones(3))
        return qml.probs()

    circuit(0.1, 4)
