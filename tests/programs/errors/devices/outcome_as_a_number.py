import jax.numpy as jnp
import pennylane as qml

from diastase import measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("reference.qubit", wires=1))
    def circuit():
        outcome = measure(0)
        qml.RX(jnp.sin(outcome), wires=0)
        return qml.expval(qml.Z(0))

    circuit()
