import jax.numpy as jnp
import pennylane as qml

from diastase import passes, qjit


def program():
    @qjit
    @passes.to_ppr
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(matrix):
        qml.QubitUnitary(matrix, wires=0)
        return qml.expval(qml.Z(0))

    circuit(jnp.eye(2))
