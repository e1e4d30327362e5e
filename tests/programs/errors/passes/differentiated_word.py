import jax
import pennylane as qml

from diastase import passes, qjit


def program():
    @passes.gridsynth
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x):
        qml.Hadamard(0)
        qml.RZ(x, 0)
        return qml.expval(qml.X(0))

    qjit(jax.grad(circuit))(0.3)
