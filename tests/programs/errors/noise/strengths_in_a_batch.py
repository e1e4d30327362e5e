import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit(p):
        qml.BitFlip(p, wires=0)
        return qml.expval(qml.Z(0))

    circuit(jnp.array([0.1, 0.2]))
