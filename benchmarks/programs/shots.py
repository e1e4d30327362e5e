"""Samples of all qubits after one layer of HEA; compared is how often each qubit was 1."""

from programs import hea
from programs.gates import Circuit, apply, spread


def circuit(qubits, shots):
    return Circuit(qubits, hea.layer(qubits, spread(qubits, 2)), [], shots)


def qnode(device, qubits, shots):
    import pennylane as qml

    @qml.set_shots(shots)
    @qml.qnode(device(qubits))
    def samples(angles):
        apply(qml, hea.layer(qubits, angles))
        return qml.sample(wires=range(qubits))

    return samples, (spread(qubits, 2),)


def value(samples):
    """What is compared of a result: simulators give fractions, PennyLane gives the samples."""
    return samples.mean(axis=0) if samples.ndim == 2 else samples
