import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


@qjit
@qml.qnode(qml.device("lightning.qubit", wires=1))
def rotated(angles):
    qml.RX(angles, wires=0)
    return qml.expval(qml.Z(0))


def program():
    rotated(jnp.zeros((2, 2)))
