"""The quantum Fourier transform of a product state, written out; the result is <Z0 Z(n-1)>."""

import numpy as np

from programs.gates import Circuit, apply, expval, spread


def gates(qubits, angles):
    """A rotation of each qubit, Hadamards and controlled phases, then the swaps."""
    made = [("RY", (q,), angles[q]) for q in range(qubits)]
    for q in range(qubits):
        made.append(("Hadamard", (q,), None))
        for other in range(q + 1, qubits):
            made.append(("ControlledPhaseShift", (other, q), np.pi / 2 ** (other - q)))
    return made + [("SWAP", (q, qubits - 1 - q), None) for q in range(qubits // 2)]


def terms(qubits):
    # Hadamards make <Z> of a Fourier transform nearly 0: <X> of neighbours is not.
    return [(1.0, {0: "Z", qubits - 1: "Z"}), (0.5, {0: "X"}), (0.5, {qubits - 1: "X"})]


def circuit(qubits):
    return Circuit(qubits, gates(qubits, spread(qubits)), terms(qubits))


def qnode(device, qubits):
    import pennylane as qml

    @qml.qnode(device(qubits))
    def qft(angles):
        apply(qml, gates(qubits, angles))
        return expval(qml, terms(qubits))

    return qft, (spread(qubits),)
