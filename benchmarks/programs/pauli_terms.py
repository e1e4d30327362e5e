"""<H> of many random Pauli words, each on up to four qubits, after one layer of HEA."""

import numpy as np

from programs import hea
from programs.gates import Circuit, apply, expval, spread


def hamiltonian(qubits, count):
    """Random words, the same in every environment."""
    random = np.random.default_rng(11)
    terms = []
    for _ in range(count):
        wires = random.choice(qubits, size=random.integers(1, 5), replace=False)
        word = {int(q): "XYZ"[random.integers(3)] for q in wires}
        terms.append((float(random.normal()), word))
    return terms


def circuit(qubits, count):
    gates = hea.layer(qubits, spread(qubits, 2))
    return Circuit(qubits, gates, hamiltonian(qubits, count))


def qnode(device, qubits, count):
    import pennylane as qml

    terms = hamiltonian(qubits, count)

    @qml.qnode(device(qubits))
    def energy(angles):
        apply(qml, hea.layer(qubits, angles))
        return expval(qml, terms)

    return energy, (spread(qubits, 2),)
