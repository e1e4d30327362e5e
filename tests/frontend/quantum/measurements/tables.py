"""Observables and measurements, as functions of numbers and wires that may be traced.

An observable is `function(c, w) -> operator`: `c` is a vector of four real numbers, `w` four
different wires of `WIRES`. Each is built with NumPy values, where it is static, and with tracers.
`NO_EIGENBASIS` are those of which PennyLane gives no probabilities.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import scipy.sparse
from pennylane.pauli import PauliSentence, PauliWord

WIRES = 4
NUMBERS = np.array([0.37, -1.21, 0.83, 2.05])
PLACES = np.array([2, 0, 3, 1])

Observable = Callable[[Any, Any], Any]
Measured = Callable[[Any, Any], Any]

_random = np.random.default_rng(11)


def _hermitian(wires: int) -> np.ndarray:
    matrix = _random.normal(size=(2**wires,) * 2) + 1j * _random.normal(size=(2**wires,) * 2)
    return matrix + matrix.conj().T


ONE, TWO, THREE, ALL = (_hermitian(wires) for wires in (1, 2, 3, 4))
SPARSE = scipy.sparse.csr_matrix(TWO * (np.abs(TWO) > 0.8))
SPARSE_ALL = scipy.sparse.csr_matrix(ALL * (np.abs(ALL) > 2))
VECTOR = np.array([0.5, 0.5j, -0.5, 0.5])


def _matrix(rows: Any) -> Any:
    """A matrix of numbers, some of which may be traced."""
    library = np if all(isinstance(x, int | float | complex) for row in rows for x in row) else jnp
    return library.stack([library.stack([library.asarray(x) for x in row]) for row in rows])


class WithMatrix(qml.operation.Operator):
    """An observable of the user's, with a matrix."""

    num_params = 1
    num_wires = 2
    is_verified_hermitian = True

    @staticmethod
    def compute_matrix(x: Any) -> Any:  # pyright: ignore
        """Diagonal, and a corner."""
        return _matrix([[x, 0, 0, 1j], [0, 2 * x, 0, 0], [0, 0, 3, 0], [-1j, 0, 0, 1]])


class WithEigenvalues(qml.operation.Operator):
    """An observable of the user's, with eigenvalues and diagonalizing gates."""

    num_params = 0
    num_wires = 2

    @staticmethod
    def compute_eigvals() -> Any:  # pyright: ignore
        """Four different ones."""
        return np.array([0.3, -1.0, 2.0, 0.7])

    @staticmethod
    def compute_diagonalizing_gates(wires: Any) -> Any:  # pyright: ignore
        """Gates that do not commute."""
        return [qml.Hadamard(wires[0]), qml.CNOT(wires), qml.RY(0.4, wires[1])]


OBSERVABLES: Mapping[str, Observable] = {
    "X": lambda c, w: qml.X(w[0]),
    "Y": lambda c, w: qml.Y(w[1]),
    "Z": lambda c, w: qml.Z(w[2]),
    "Hadamard": lambda c, w: qml.Hadamard(w[3]),
    "Identity": lambda c, w: qml.Identity(w[0]),
    "Identity on two": lambda c, w: qml.Identity([w[0], w[2]]),
    "word": lambda c, w: qml.X(w[0]) @ qml.Y(w[1]) @ qml.Z(w[3]),
    "long word": lambda c, w: qml.X(w[0]) @ qml.Y(w[1]) @ qml.Z(w[3]) @ qml.X(w[2]),
    "PauliWord": lambda c, w: PauliWord({w[0]: "X", w[3]: "Z"}).operation(),
    "PauliSentence": lambda c, w: PauliSentence(
        {PauliWord({w[0]: "X", w[3]: "Z"}): c[0], PauliWord({w[1]: "Y"}): c[1]}
    ).operation(),
    "scaled PauliWord": lambda c, w: (c[0] * PauliWord({w[0]: "Y", w[1]: "Z"})).operation(),
    "Hermitian": lambda c, w: qml.Hermitian(ONE, w[0]),
    "Hermitian on two": lambda c, w: qml.Hermitian(TWO, [w[1], w[0]]),
    "Hermitian on three": lambda c, w: qml.Hermitian(THREE, [w[2], w[0], w[1]]),
    "Hermitian on all": lambda c, w: qml.Hermitian(ALL, [w[2], w[0], w[1], w[3]]),
    "traced Hermitian": lambda c, w: qml.Hermitian(c[0] * TWO, [w[1], w[3]]),
    "real Hermitian": lambda c, w: qml.Hermitian(_matrix([[c[0], 1.0], [1.0, c[1]]]), w[3]),
    "Hermitian of a list": lambda c, w: qml.Hermitian([[c[0], 1.0], [1.0, c[1]]], w[3]),
    "Projector on a basis state": lambda c, w: qml.Projector([0, 1, 0], [w[0], w[1], w[3]]),
    "Projector on a traced basis state": lambda c, w: qml.Projector(
        (c[:2] > 0).astype(int), [w[0], w[3]]
    ),
    "Projector on all wires": lambda c, w: qml.Projector([0, 1, 0, 1], [w[0], w[1], w[2], w[3]]),
    "Projector on a vector": lambda c, w: qml.Projector(VECTOR, [w[3], w[1]]),
    "Projector on a traced vector": lambda c, w: qml.Projector(
        VECTOR * qml.math.exp(1j * c[0]), [w[3], w[1]]
    ),
    "SparseHamiltonian": lambda c, w: qml.SparseHamiltonian(SPARSE, [w[1], w[2]]),
    "SparseHamiltonian on all": lambda c, w: qml.SparseHamiltonian(
        SPARSE_ALL, [w[1], w[2], w[0], w[3]]
    ),
    "Exp of a word": lambda c, w: qml.exp(qml.X(w[0]) @ qml.Z(w[2]), c[0]),
    "Exp of a sum": lambda c, w: qml.exp(qml.X(w[0]) @ qml.Z(w[2]) + qml.Y(w[0]), 0.3 * c[0]),
    "square": lambda c, w: qml.pow(c[0] * qml.X(w[0]) + qml.Z(w[1]) @ qml.X(w[2]), 2),
    "cube": lambda c, w: (qml.X(w[0]) + 0.5 * qml.Z(w[0])) ** 3,
    "root": lambda c, w: qml.pow(qml.Hermitian(TWO @ TWO, [w[0], w[1]]), 0.5),
    "inverse": lambda c, w: qml.pow(qml.Hermitian(TWO, [w[0], w[1]]), -1),
    "Adjoint": lambda c, w: qml.adjoint(c[0] * qml.X(w[0]) + qml.Hermitian(TWO, [w[1], w[2]])),
    "SProd": lambda c, w: c[0] * qml.X(w[0]),
    "SProd from the right": lambda c, w: (qml.X(w[0]) @ qml.Y(w[1])) * c[1],
    "quotient": lambda c, w: qml.X(w[0]) / c[1],
    "Sum": lambda c, w: qml.X(w[0]) + c[0] * qml.Y(w[0]) + qml.Z(w[1]),
    "difference": lambda c, w: qml.X(w[0]) - c[0] * qml.Z(w[1]),
    "product of sums": lambda c, w: (
        (qml.X(w[0]) + c[0] * qml.Y(w[0])) @ (qml.Z(w[1]) - qml.X(w[2]))
    ),
    "sum of products": lambda c, w: qml.sum(
        qml.prod(qml.X(w[0]), qml.Hadamard(w[1])), c[3] * qml.prod(qml.Z(w[0]), qml.Y(w[3]))
    ),
    "same wire": lambda c, w: qml.prod(qml.X(w[0]), qml.X(w[0]), qml.Z(w[1])),
    "anticommutator": lambda c, w: qml.X(w[0]) @ qml.Z(w[0]) + qml.Z(w[0]) @ qml.X(w[0]),
    "Hamiltonian": lambda c, w: qml.Hamiltonian(
        [c[0], c[1], c[2]], [qml.X(w[0]), qml.Z(w[1]) @ qml.Y(w[2]), qml.Identity(w[0])]
    ),
    "Hamiltonian of a vector": lambda c, w: qml.Hamiltonian(
        c[:2], [qml.X(w[0]), qml.Z(w[1]) @ qml.Y(w[2])]
    ),
    "Hamiltonian of matrices": lambda c, w: qml.Hamiltonian(
        c[:2], [qml.Hermitian(TWO, [w[0], w[2]]), qml.Projector([1], w[1])]
    ),
    "scaled Hamiltonian": lambda c, w: (
        c[1] * qml.Hamiltonian([1.0, 2.0], [qml.X(w[0]), qml.Z(w[1])])
    ),
    "sum of Hamiltonians": lambda c, w: (
        qml.Hamiltonian([c[0]], [qml.X(w[0])])
        + qml.Hamiltonian([1.0, c[1]], [qml.Z(w[1]), qml.Y(w[2])])
    ),
    "Hamiltonian minus": lambda c, w: qml.Hamiltonian([c[0]], [qml.X(w[0])]) - qml.Z(w[1]),
    "product of Hamiltonians": lambda c, w: (
        qml.Hamiltonian([c[0], 1], [qml.X(w[0]), qml.Z(w[0])])
        @ qml.Hamiltonian([2.0, c[1]], [qml.Z(w[1]), qml.Y(w[2])])
    ),
    "dot": lambda c, w: qml.dot(c[:3], [qml.X(w[0]), qml.Z(w[1]), qml.Hermitian(ONE, w[2])]),
    "dot of words": lambda c, w: qml.dot(
        c[:2], [PauliWord({w[0]: "X"}), PauliWord({w[1]: "Z"})], pauli=True
    ).operation(),
    "shifted": lambda c, w: qml.X(w[0]) + c[0],
    "Hermitian in a product": lambda c, w: qml.Hermitian(THREE, [w[0], w[1], w[2]]) @ qml.Z(w[3]),
    "Hermitians in a sum": lambda c, w: (
        qml.Hermitian(THREE, [w[0], w[1], w[2]]) + c[0] * qml.Hermitian(THREE, [w[3], w[1], w[2]])
    ),
    "sparse in a sum": lambda c, w: (
        c[0] * qml.SparseHamiltonian(SPARSE, [w[1], w[2]]) + qml.X(w[1])
    ),
    "sparse in a product": lambda c, w: qml.SparseHamiltonian(SPARSE, [w[1], w[2]]) @ qml.X(w[0]),
    "projectors in a sum": lambda c, w: (
        qml.Projector([0, 1], [w[1], w[2]]) + c[0] * qml.Projector(VECTOR, [w[0], w[2]])
    ),
    "nested": lambda c, w: qml.sum(
        qml.s_prod(c[0], qml.prod(qml.sum(qml.X(w[0]), qml.Z(w[1])), qml.Hadamard(w[2]))),
        qml.Hamiltonian([1.0, c[1]], [qml.sum(qml.Y(w[3]), qml.Z(w[3])), qml.Identity(w[0])]),
        qml.prod(qml.X(w[1]), qml.s_prod(-0.5, qml.Projector([1, 0], [w[2], w[3]])), qml.Z(w[0])),
    ),
    "rotated": lambda c, w: (
        qml.adjoint(qml.exp(qml.Y(w[0]) + qml.X(w[1]), 0.3j))
        @ qml.Z(w[0])
        @ qml.exp(qml.Y(w[0]) + qml.X(w[1]), 0.3j)
    ),
    "CNOT": lambda c, w: qml.CNOT([w[0], w[1]]),
    "SWAP": lambda c, w: qml.SWAP([w[0], w[1]]),
    "Toffoli": lambda c, w: qml.Toffoli([w[0], w[1], w[3]]),
    "user's matrix": lambda c, w: WithMatrix(c[0], wires=[w[0], w[2]]),
    "user's eigenvalues": lambda c, w: WithEigenvalues(wires=[w[0], w[2]]),
    "user's in a sum": lambda c, w: qml.sum(
        WithEigenvalues(wires=[w[0], w[2]]), c[0] * WithMatrix(c[1], wires=[w[0], w[3]])
    ),
}

NO_EIGENBASIS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "Hamiltonian",
            "Hamiltonian of a vector",
            "Hamiltonian of matrices",
            "scaled Hamiltonian",
            "sum of Hamiltonians",
            "Hamiltonian minus",
            "product of Hamiltonians",
        ),
        "PennyLane has no probabilities of Hamiltonians",
    ),
    **dict.fromkeys(
        (
            "SparseHamiltonian",
            "SparseHamiltonian on all",
            "sparse in a sum",
            "sparse in a product",
            "SWAP",
            "user's matrix",
            "user's in a sum",
        ),
        "PennyLane has no diagonalizing gates",
    ),
    "rotated": "PennyLane does not know it to be Hermitian, and takes eigenvectors of no basis",
}
"""Why `probs(op=…)` of these is nothing to compare with."""

ON_WIRES: Mapping[str, Measured] = {
    "probs of one wire": lambda c, w: qml.probs(wires=w[0]),
    "probs of wires": lambda c, w: qml.probs(wires=[w[2], w[0], w[1]]),
    "probs of all wires": lambda c, w: qml.probs(wires=[w[2], w[0], w[1], w[3]]),
    "probs": lambda c, w: qml.probs(),
    "state": lambda c, w: qml.state(),
    "density matrix of one wire": lambda c, w: qml.density_matrix(w[1]),
    "density matrix": lambda c, w: qml.density_matrix([w[2], w[0]]),
    "density matrix of all": lambda c, w: qml.density_matrix([w[2], w[0], w[1], w[3]]),
    "purity": lambda c, w: qml.purity([w[1], w[2]]),
    "purity of three": lambda c, w: qml.purity([w[1], w[2], w[0]]),
    "purity of all": lambda c, w: qml.purity([w[1], w[2], w[0], w[3]]),
    "entropy": lambda c, w: qml.vn_entropy([w[3], w[0]]),
    "entropy of one": lambda c, w: qml.vn_entropy(w[3], log_base=2),
    "entropy of three": lambda c, w: qml.vn_entropy([w[3], w[0], w[1]], log_base=10),
    "entropy of all": lambda c, w: qml.vn_entropy([w[3], w[0], w[1], w[2]]),
    "mutual information": lambda c, w: qml.mutual_info([w[0]], [w[2]]),
    "mutual information of pairs": lambda c, w: qml.mutual_info([w[0], w[1]], [w[2], w[3]]),
    "mutual information in bits": lambda c, w: qml.mutual_info([w[0], w[1]], [w[2]], log_base=2),
}
"""Measurements of wires."""

OF_OBSERVABLES: Mapping[str, Callable[[Any], Any]] = {
    "expval": qml.expval,
    "var": qml.var,
    "probs": lambda observable: qml.probs(op=observable),
}


def prepare(angles: Any) -> None:
    """An entangled state without symmetries; `angles` are two numbers for each wire."""
    for layer in range(2):
        for wire in range(WIRES):
            qml.RY(angles[2 * wire] + layer, wire)
            qml.RZ(angles[2 * wire + 1] - layer, wire)
        for wire in range(WIRES):
            qml.CNOT([wire, (wire + 1) % WIRES])
