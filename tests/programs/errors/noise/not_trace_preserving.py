import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit(p, q):
        flip = jnp.array([[0, 1], [1, 0]])
        qml.QubitChannel([jnp.sqrt(1 - p) * jnp.eye(2), jnp.sqrt(q) * flip], wires=0)
        return qml.expval(qml.Z(0))

    circuit(0.1, 0.2)
