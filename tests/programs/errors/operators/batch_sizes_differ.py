import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


@qml.qnode(qml.device("default.qubit", wires=1))
def circuit(x=0.5):
    qml.RX(x * jnp.ones(3), wires=0)
    qml.RY(x * jnp.ones(2), wires=0)
    return qml.expval(qml.Z(0))


def program():
    qjit(circuit)()
