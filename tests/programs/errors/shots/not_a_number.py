import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.set_shots(10)
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def coin(angle):
        qml.RY(angle, wires=0)
        return qml.counts()

    coin(jnp.inf)
