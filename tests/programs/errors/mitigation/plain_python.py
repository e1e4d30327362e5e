import jax
import pennylane as qml

from diastase import mitigate_with_zne


def program():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x):
        qml.RX(x, wires=0)
        return qml.expval(qml.Z(0))

    jax.jit(mitigate_with_zne(circuit, scale_factors=[1, 3]))(0.3)
