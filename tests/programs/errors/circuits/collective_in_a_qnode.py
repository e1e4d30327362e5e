import jax
import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


def program():
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit(x):
        qml.RX(jax.lax.psum(x, "batch"), 0)
        return qml.expval(qml.Z(0))

    qjit(jax.vmap(circuit, axis_name="batch"))(jnp.zeros(3))
