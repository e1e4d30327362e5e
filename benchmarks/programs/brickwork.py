"""Random brickwork: on every qubit RZ RY RZ of random angles, then CNOTs on every other pair."""

import numpy as np

from programs.gates import Circuit, apply, expval, zz


def angles_of(qubits, depth):
    return np.random.default_rng(5).uniform(0, 2 * np.pi, (depth, qubits, 3))


def gates(qubits, angles):
    """All layers; the pairs of odd layers are shifted by one."""
    made = []
    for depth in range(angles.shape[0]):
        for q in range(qubits):
            names = enumerate(("RZ", "RY", "RZ"))
            made += [(name, (q,), angles[depth, q, k]) for k, name in names]
        made += [("CNOT", (q, q + 1), None) for q in range(depth % 2, qubits - 1, 2)]
    return made


def circuit(qubits, depth):
    return Circuit(qubits, gates(qubits, angles_of(qubits, depth)), zz(0, 1))


def qnode(device, qubits, depth):
    import pennylane as qml

    @qml.qnode(device(qubits))
    def brickwork(angles):
        apply(qml, gates(qubits, angles))
        return expval(qml, zz(0, 1))

    return brickwork, (angles_of(qubits, depth),)
