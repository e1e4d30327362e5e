"""What is measured, and operators that are no gates, against dense linear algebra."""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import pennylane as qml
import pytest
import scipy.sparse

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
    assert state.pauli("expval_pauli", terms) == pytest.approx(mean, abs=state.within(1e-12))
    assert state.pauli("var_pauli", terms) == pytest.approx(
        square - mean**2, abs=state.within(1e-12)
    )


@pytest.mark.parametrize("qubits", [1, 2, 3, 5])
def test_every_single_word(register: Callable, qubits: int) -> None:
    state, vector = prepared(register, qubits)
    for word in _words(qubits):
        wires = [wire for wire, letter in enumerate(word) if letter != "I"]
        letters = word.replace("I", "")
        expected = np.vdot(vector, dense_word(letters, wires, qubits) @ vector).real
        assert state.pauli("expval_pauli", [(1.0, letters, wires)]) == pytest.approx(
            expected, abs=state.within(1e-13)
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
        assert state.matrix_moment("expval_matrix", matrix, wires) == pytest.approx(
            mean, rel=1e-5, abs=1e-6
        )
        assert state.matrix_moment("var_matrix", matrix, wires) == pytest.approx(
            square - mean**2, rel=state.within(1e-10, 1e-4)
        )


@pytest.mark.parametrize("qubits", range(8))
def test_probabilities(register: Callable, qubits: int) -> None:
    state, vector = prepared(register, qubits)
    weights = (np.abs(vector) ** 2).reshape((2,) * qubits)
    np.testing.assert_allclose(state.probabilities(), weights.ravel(), atol=state.within(1e-14))
    generator = np.random.default_rng(qubits)
    for width in range(1, qubits + 1):
        wires = [int(wire) for wire in generator.permutation(qubits)[:width]]
        rest = tuple(wire for wire in range(qubits) if wire not in wires)
        order = np.argsort(np.argsort(wires))
        expected = np.transpose(weights.sum(axis=rest), order)
        np.testing.assert_allclose(
            state.probabilities(wires), expected.ravel(), atol=state.within(1e-14)
        )


@pytest.mark.parametrize("qubits", [3, 4, 9])
def test_probabilities_and_amplitudes_in_order(register: Callable, qubits: int) -> None:
    generator = np.random.default_rng(qubits)
    vector = generator.normal(size=2**qubits) + 1j * generator.normal(size=2**qubits)
    state = register(qubits)
    state.prepare(vector)
    np.testing.assert_allclose(state.amplitudes, vector, rtol=state.within(1e-15))
    np.testing.assert_allclose(state.probabilities(), np.abs(vector) ** 2, rtol=state.within(1e-15))


@pytest.mark.parametrize("qubits", [1, 2, 4, 6])
def test_copies_sums_and_inner_products(register: Callable, qubits: int) -> None:
    first, a = prepared(register, qubits, seed=1)
    second, b = prepared(register, qubits, seed=2)
    assert first.inner(second) == pytest.approx(np.vdot(a, b), rel=1e-5)
    copy = first.copy()
    copy.gate("RX", (0,), 0.3)
    second.scale_add(copy, 0.3 - 0.7j)
    np.testing.assert_allclose(
        second.amplitudes, b + (0.3 - 0.7j) * copy.amplitudes, atol=second.within(1e-14)
    )
    np.testing.assert_allclose(first.amplitudes, a, atol=first.within(1e-15))
    copy.gate("PauliX", (0,))  # waits, and must be forgotten
    copy.call("state_zero")
    np.testing.assert_array_equal(copy.amplitudes, 0)
    copy.release()


def widths(qubits: int, generator: np.random.Generator) -> list[list[int]]:
    """Wires in any order, one list of each length."""
    return [
        [int(wire) for wire in generator.permutation(qubits)[:width]]
        for width in range(1, qubits + 1)
    ]


def embedded(matrix: np.ndarray, wires: list[int], qubits: int) -> np.ndarray:
    hermitian, other = matrix + matrix.conj().T, 1j * (matrix - matrix.conj().T)
    full = [
        qml.matrix(qml.Hermitian(part, wires=wires), wire_order=range(qubits))
        for part in (hermitian, other)
    ]
    return (full[0] - 1j * full[1]) / 2


@pytest.mark.parametrize("qubits", range(1, 7))
def test_sparse_matrices(register: Callable, qubits: int) -> None:
    generator = np.random.default_rng(qubits)
    for wires in widths(qubits, generator):
        state, vector = prepared(register, qubits)
        shape = (2 ** len(wires),) * 2
        matrix = generator.normal(size=shape) * (generator.random(shape) < 0.3) * (1 + 0.5j)
        state.gate("RX", (0,), 0.4)  # waits
        rotated = qml.matrix(qml.RX(0.4, 0), wire_order=range(qubits)) @ vector
        state.apply_sparse(scipy.sparse.csr_matrix(matrix), wires)
        expected = embedded(matrix, wires, qubits) @ rotated
        np.testing.assert_allclose(state.amplitudes, expected, atol=state.within(1e-13))


@pytest.mark.parametrize("qubits", range(1, 7))
def test_projectors(register: Callable, qubits: int) -> None:
    generator = np.random.default_rng(qubits)
    for wires in widths(qubits, generator):
        state, vector = prepared(register, qubits)
        onto = generator.normal(size=2 ** len(wires)) + 1j * generator.normal(size=2 ** len(wires))
        state.project_on(onto, wires)
        expected = embedded(np.outer(onto, onto.conj()), wires, qubits) @ vector
        np.testing.assert_allclose(state.amplitudes, expected, atol=state.within(1e-12))


@pytest.mark.parametrize("qubits", range(1, 7))
def test_density_matrices(register: Callable, qubits: int) -> None:
    for wires in widths(qubits, np.random.default_rng(qubits)):
        state, vector = prepared(register, qubits)
        expected = qml.math.reduce_statevector(vector, indices=wires)
        np.testing.assert_allclose(state.density_matrix(wires), expected, atol=state.within(1e-13))


@pytest.mark.parametrize("qubits", range(1, 7))
def test_sums_of_words_are_added(register: Callable, qubits: int) -> None:
    target, start = prepared(register, qubits, seed=1)
    source, vector = prepared(register, qubits, seed=2)
    terms = random_terms(np.random.default_rng(qubits), qubits, 7)
    target.add_pauli_sum(source, terms)
    for coefficient, word, wires in terms:
        start = start + coefficient * dense_word(word, wires, qubits) @ vector
    np.testing.assert_allclose(target.amplitudes, start, atol=target.within(1e-12))
    np.testing.assert_allclose(source.amplitudes, vector, atol=source.within(1e-15))


@pytest.mark.parametrize("qubits", [1, 2, 4])
def test_letters_on_one_wire_multiply(register: Callable, qubits: int) -> None:
    """Every product of four letters on the last wire that is a letter again, up to a sign."""
    state, vector = prepared(register, qubits)
    last = qubits - 1
    for letters in (a + b + c + d for a in "XYZ" for b in "XYZ" for c in "XYZ" for d in "XYZ"):
        matrix = np.eye(2**qubits)
        for letter in letters:
            matrix = matrix @ dense_word(letter, [last], qubits)
        if not np.allclose(matrix, matrix.conj().T):
            continue
        expected = np.vdot(vector, matrix @ vector).real
        found = state.pauli("expval_pauli", [(1.0, letters, [last] * 4)])
        assert found == pytest.approx(expected, abs=state.within(1e-12))


def word_mean(vector: np.ndarray, word: str, wires: Sequence[int]) -> float:
    """<P> by index arithmetic, for states that are too large for matrices."""
    qubits = len(vector).bit_length() - 1
    index = np.arange(len(vector))
    product = vector.copy()
    for letter, wire in zip(word, wires, strict=True):
        bit = qubits - 1 - wire
        sign = 1 - 2.0 * ((index >> bit) & 1)
        if letter != "Z":
            product = product[index ^ (1 << bit)]
        if letter != "X":
            product = product * (sign if letter == "Z" else -1j * sign)
    return np.vdot(vector, product).real


@pytest.mark.sample(2)
@pytest.mark.parametrize("qubits", [9, 10, 12, 15, 16, 17])
def test_sums_in_groups_and_chunks(register: Callable, qubits: int) -> None:
    """Few and many words with one x, which lies in lanes, in a group, in a chunk or above."""
    generator = np.random.default_rng(qubits)
    state = register(qubits)
    for wire in range(qubits):
        state.gate("RY", [wire], generator.normal())
        state.gate("RZ", [wire], generator.normal())
    for wire in range(qubits - 1):
        state.gate("CRX", [wire, wire + 1], generator.normal())
    vector = state.amplitudes.astype(complex)
    flipped: list[list[int]] = [[], [qubits - 1], [0], [0, 1, qubits - 2], [3, 4, qubits - 6]]
    terms: list[Term] = random_terms(generator, qubits, 12)
    for flips in flipped:
        for count in (1, 3, 11):
            for _ in range(count):
                letters = generator.choice(list("IZ"), qubits)
                letters[flips] = generator.choice(list("XY"), len(flips))
                wires = [wire for wire in range(qubits) if letters[wire] != "I"]
                word = "".join(letters[wires])
                terms.append((float(generator.normal()), word, wires))
                each = word_mean(vector, word, wires)
                assert state.pauli("expval_pauli", [(1.0, word, wires)]) == pytest.approx(
                    each, abs=state.within(1e-13)
                )
    expected = sum(number * word_mean(vector, word, wires) for number, word, wires in terms)
    assert state.pauli("expval_pauli", terms) == pytest.approx(expected, abs=state.within(1e-11))
