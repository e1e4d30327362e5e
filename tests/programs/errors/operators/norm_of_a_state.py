import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


@qjit
@qml.qnode(qml.device("default.qubit", wires=2))
def circuit(features):
    qml.AmplitudeEmbedding(features, wires=[0, 1])
    return qml.probs()


def program():
    circuit(jnp.array([1.0, 2.0, 3.0, 4.0]))
