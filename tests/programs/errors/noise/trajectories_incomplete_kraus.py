import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import qjit


@qjit(method="trajectories")
@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit(p, q):
    flip = np.array([[0, 1], [1, 0]])
    qml.QubitChannel([jnp.sqrt(1 - p) * np.eye(2), jnp.sqrt(q) * flip], wires=0)
    return qml.expval(qml.Z(0))


def program():
    circuit(0.1, 0.2)
