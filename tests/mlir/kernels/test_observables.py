"""Expectations, variances, probabilities and inner products against dense linear algebra."""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import pennylane as qml
import pytest

PAULI = {
    "X": np.array([[0, 1], [1, 0]], complex),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1.0 + 0j, -1]),
}
Term = tuple[float, str, Sequence[int]]


def prepared(register: Callable, qubits: int, seed: int = 0):
    """A random state whose wires were swapped about, and its amplitudes."""
    generator = np.random.default_rng([qubits, seed])
    vector = generator.normal(size=2**qubits) + 1j * generator.normal(size=2**qubits)
    state = register(qubits)
    state.prepare(vector / np.linalg.norm(vector))
    for _ in range(3 if qubits > 1 else 0):
        first, second = generator.choice(qubits, 2, replace=False)
        state.gate("SWAP", (first, second))
    return state, state.amplitudes


def dense_word(word: str, wires: Sequence[int], qubits: int) -> np.ndarray:
    factors = [np.eye(2, dtype=complex)] * qubits
    for letter, wire in zip(word, wires, strict=True):
        factors[wire] = PAULI[letter]
    return functools.reduce(np.kron, factors, np.eye(1))


def random_terms(generator: np.random.Generator, qubits: int, count: int) -> list[Term]:
    terms: list[Term] = []
    for _ in range(count):
        width = int(generator.integers(0, qubits + 1))
        wires = [int(wire) for wire in generator.permutation(qubits)[:width]]
        word = "".join(generator.choice(list("XYZ"), width))
        terms.append((float(generator.normal()), word, wires))
    return terms


@pytest.mark.parametrize("qubits", range(1, 8))
@pytest.mark.parametrize("count", [0, 1, 2, 15])
def test_pauli_sums(register: Callable, qubits: int, count: int) -> None:
    state, vector = prepared(register, qubits)
    terms = random_terms(np.random.default_rng([qubits, count]), qubits, count)
    matrix = np.zeros((2**qubits,) * 2, complex)
    for coefficient, word, wires in terms:
        matrix += coefficient * dense_word(word, wires, qubits)
    mean = np.vdot(vector, matrix @ vector).real
    square = np.linalg.norm(matrix @ vector) ** 2
    assert state.pauli("expval_pauli", terms) == pytest.approx(mean, abs=1e-12)
    assert state.pauli("var_pauli", terms) == pytest.approx(square - mean**2, abs=1e-12)


@pytest.mark.parametrize("qubits", [1, 2, 3, 5])
def test_every_single_word(register: Callable, qubits: int) -> None:
    state, vector = prepared(register, qubits)
    for word in _words(qubits):
        wires = [wire for wire, letter in enumerate(word) if letter != "I"]
        letters = word.replace("I", "")
        expected = np.vdot(vector, dense_word(letters, wires, qubits) @ vector).real
        assert state.pauli("expval_pauli", [(1.0, letters, wires)]) == pytest.approx(
            expected, abs=1e-13
        )


def _words(qubits: int) -> list[str]:
    words = [""]
    for _ in range(qubits):
        words = [word + letter for word in words for letter in "IXYZ"]
    return words[:: max(1, len(words) // 100)]


@pytest.mark.parametrize("qubits", range(1, 7))
def test_hermitian_matrices(register: Callable, qubits: int) -> None:
    state, vector = prepared(register, qubits)
    generator = np.random.default_rng(qubits)
    for width in range(1, qubits + 1):
        wires = [int(wire) for wire in generator.permutation(qubits)[:width]]
        matrix = generator.normal(size=(2**width,) * 2) + 1j * generator.normal(
            size=(2**width,) * 2
        )
        matrix = matrix + matrix.conj().T
        full = qml.matrix(qml.Hermitian(matrix, wires=wires), wire_order=range(qubits))
        mean = np.vdot(vector, full @ vector).real
        square = np.linalg.norm(full @ vector) ** 2
        assert state.matrix_moment("expval_matrix", matrix, wires) == pytest.approx(mean)
        assert state.matrix_moment("var_matrix", matrix, wires) == pytest.approx(
            square - mean**2, rel=1e-10
        )


@pytest.mark.parametrize("qubits", range(8))
def test_probabilities(register: Callable, qubits: int) -> None:
    state, vector = prepared(register, qubits)
    weights = (np.abs(vector) ** 2).reshape((2,) * qubits)
    np.testing.assert_allclose(state.probabilities(), weights.ravel(), atol=1e-14)
    generator = np.random.default_rng(qubits)
    for width in range(1, qubits + 1):
        wires = [int(wire) for wire in generator.permutation(qubits)[:width]]
        rest = tuple(wire for wire in range(qubits) if wire not in wires)
        order = np.argsort(np.argsort(wires))
        expected = np.transpose(weights.sum(axis=rest), order)
        np.testing.assert_allclose(state.probabilities(wires), expected.ravel(), atol=1e-14)


@pytest.mark.parametrize("qubits", [3, 4, 9])
def test_probabilities_and_amplitudes_in_order(register: Callable, qubits: int) -> None:
    generator = np.random.default_rng(qubits)
    vector = generator.normal(size=2**qubits) + 1j * generator.normal(size=2**qubits)
    state = register(qubits)
    state.prepare(vector)
    np.testing.assert_allclose(state.amplitudes, vector, rtol=1e-15)
    np.testing.assert_allclose(state.probabilities(), np.abs(vector) ** 2, rtol=1e-15)


@pytest.mark.parametrize("qubits", [1, 2, 4, 6])
def test_copies_sums_and_inner_products(register: Callable, qubits: int) -> None:
    first, a = prepared(register, qubits, seed=1)
    second, b = prepared(register, qubits, seed=2)
    assert first.inner(second) == pytest.approx(np.vdot(a, b))
    copy = first.copy()
    copy.gate("RX", (0,), 0.3)
    second.scale_add(copy, 0.3 - 0.7j)
    np.testing.assert_allclose(second.amplitudes, b + (0.3 - 0.7j) * copy.amplitudes, atol=1e-14)
    np.testing.assert_allclose(first.amplitudes, a, atol=1e-15)
    copy.gate("PauliX", (0,))  # waits, and must be forgotten
    copy.call("state_zero")
    np.testing.assert_array_equal(copy.amplitudes, 0)
    copy.release()
