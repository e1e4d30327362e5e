"""Gates and measurements of random circuits, by name."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml

GATES = {
    "Hadamard": (0, 1), "PauliX": (0, 1), "PauliY": (0, 1), "PauliZ": (0, 1), "S": (0, 1),
    "T": (0, 1), "SX": (0, 1), "CNOT": (0, 2), "CZ": (0, 2), "CY": (0, 2), "CH": (0, 2),
    "SWAP": (0, 2), "ISWAP": (0, 2), "SISWAP": (0, 2), "ECR": (0, 2), "CCZ": (0, 3),
    "Toffoli": (0, 3), "CSWAP": (0, 3),
    "RX": (1, 1), "RY": (1, 1), "RZ": (1, 1), "PhaseShift": (1, 1), "Rot": (3, 1), "U2": (2, 1),
    "U3": (3, 1), "CRX": (1, 2), "CRY": (1, 2), "CRZ": (1, 2), "CRot": (3, 2),
    "ControlledPhaseShift": (1, 2), "IsingXX": (1, 2), "IsingYY": (1, 2), "IsingZZ": (1, 2),
    "IsingXY": (1, 2), "SingleExcitation": (1, 2), "FermionicSWAP": (1, 2), "PSWAP": (1, 2),
    "CPhaseShift00": (1, 2), "CPhaseShift01": (1, 2), "MultiRZ": (1, 3), "DoubleExcitation": (1, 4),
}  # fmt: skip
"""How many parameters and wires each has."""

CONTROLLED = {
    "CNOT": "PauliX", "CY": "PauliY", "CZ": "PauliZ", "CH": "Hadamard", "CCZ": "CZ",
    "Toffoli": "CNOT", "CSWAP": "SWAP", "CRX": "RX", "CRY": "RY", "CRZ": "RZ", "CRot": "Rot",
    "ControlledPhaseShift": "PhaseShift",
}  # fmt: skip
"""What their first wire controls."""

CHANNELS = {
    "AmplitudeDamping": 1, "BitFlip": 1, "DepolarizingChannel": 1, "GeneralizedAmplitudeDamping": 2,
    "PhaseDamping": 1, "PhaseFlip": 1, "ResetError": 2,
}  # fmt: skip
"""How many strengths each has, of at most 0.4."""

FIXED = ["CNOT", "CY", "CZ", "Hadamard", "ISWAP", "PauliX", "PauliY", "PauliZ", "S", "SWAP", "SX"]
"""Clifford gates."""

PLAIN = ["CNOT", "CZ", "Hadamard", "PauliX", "PauliZ", "S", "SWAP", "Toffoli"]
"""Gates that take basis states, and what `Hadamard` makes of them, to such states or entangle."""

HERMITIAN = np.array([[1.0, 0.5 - 2j], [0.5 + 2j, -0.5]])

MEASUREMENTS = {
    "word": lambda a, b, c: qml.expval(qml.Z(a) @ qml.X(b)),
    "sum": lambda a, b, c: qml.expval(
        qml.Hamiltonian([0.5, -0.3, 0.2], [qml.Y(a), qml.Z(b), qml.X(c)])
    ),
    "variance": lambda a, b, c: qml.var(qml.X(b) @ qml.Y(c)),
    "matrix": lambda a, b, c: qml.expval(qml.Hermitian(HERMITIAN, c)),
    "probabilities": lambda a, b, c: qml.probs(wires=[c, a, b]),
    "purity": lambda a, b, c: qml.purity(wires=[a]),
}
"""What a circuit measures, of three of its wires."""


def as_numbers(result):
    """The four different numbers that a program goes on with, whatever was measured."""
    result = jnp.ravel(jnp.asarray(result)).astype(jnp.float64)
    if result.size > 4:
        result = result[:4] - 0.7 * result[4:]
    return jnp.resize(result, (4,)) * jnp.array([1.0, 0.8, -0.9, 0.7])
