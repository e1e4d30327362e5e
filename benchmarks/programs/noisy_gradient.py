"""The gradient of a noisy circuit (`noisy.py`) by all its angles and by the strength."""

from programs import noisy

device = noisy.device


def qnode(device, qubits, layers, number=0):
    import jax
    import pennylane as qml

    circuit, values = noisy.qnode(device, qubits, layers, number=number)

    def gradient(*arguments):
        grad = qml.grad if qml.compiler.active_compiler() else jax.grad
        return grad(circuit, argnums=(0, 1))(*arguments)

    return gradient, values
