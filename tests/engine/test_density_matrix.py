"""The density-matrix engine against matrices of numpy."""

import ctypes
import functools
from collections.abc import Sequence

import numpy as np
import pennylane as qml
import pytest
import scipy.stats

from diastase_engine.libraries.build import mixed_in_parts, single_mixed_in_parts
from diastase_runtime.abi import ErrorCode
from diastase_runtime.gate_table import GATES

LETTERS = {
    "I": np.eye(2),
    "X": np.array([[0, 1], [1, 0]]),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]),
}


def word(letters: str) -> np.ndarray:
    return functools.reduce(np.kron, [LETTERS[letter] for letter in letters], np.eye(1))


def words(wires: int) -> list[np.ndarray]:
    names = [""]
    for _ in range(wires):
        names = [name + letter for name in names for letter in "IXYZ"]
    return [word(name) for name in names]


def embedded(matrix: np.ndarray, wires: Sequence[int], n: int) -> np.ndarray:
    """A matrix on some of n wires as one on all."""
    return qml.math.expand_matrix(matrix, list(wires), wire_order=range(n))


def controlled(matrix: np.ndarray, values: Sequence[int]) -> np.ndarray:
    """The matrix on controls and targets."""
    size = len(matrix)
    result = np.eye(size * 2 ** len(values), dtype=complex)
    start = size * int("".join(map(str, values)) or "0", 2)
    result[start : start + size, start : start + size] = matrix
    return result


def random_complex(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.normal(size=shape) + 1j * generator.normal(size=shape)


def random_state(generator: np.random.Generator, wires: int) -> np.ndarray:
    a = random_complex(generator, 2**wires, 2**wires)
    return a @ a.conj().T / np.trace(a @ a.conj().T).real


def transfer(kraus: Sequence[np.ndarray]) -> np.ndarray:
    """The real matrix of a channel."""
    wires = int(np.log2(len(kraus[0])))
    basis = words(wires)
    images = [sum(k @ p @ k.conj().T for k in kraus) for p in basis]
    return np.array([[np.trace(p @ q).real for q in images] for p in basis]) / 2**wires


def random_kraus(generator: np.random.Generator, wires: int, count: int = 3) -> list[np.ndarray]:
    size = 2**wires
    columns, _ = np.linalg.qr(random_complex(generator, count * size, size))
    return list(columns.reshape(count, size, size))


def filled(mixed, generator: np.random.Generator, n: int, **options):
    """A register in a random state, and that state."""
    register, rho = mixed(n, **options), random_state(generator, n)
    register.replace(rho, range(n))
    return register, rho


def assert_state(register, expected: np.ndarray) -> None:
    assert register.error[0] == ErrorCode.NONE
    np.testing.assert_allclose(register.matrix, expected, atol=register.within(2e-14, 4e-6))


@pytest.mark.sample(4)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_begins_in_zero(mixed, n):
    expected = np.zeros((2**n, 2**n))
    expected[0, 0] = 1
    assert_state(mixed(n), expected)


NAMES = [*GATES, "PauliRot[X]", "PauliRot[XY]", "PauliRot[ZYX]", "PauliRot[YXZYX]"]


@pytest.mark.parametrize("values", [[], [1], [0, 1]])
@pytest.mark.parametrize("name", NAMES)
def test_gates_conjugate(mixed, name, values):
    generator = np.random.default_rng(NAMES.index(name))
    letters = name[9:-1] if name.startswith("PauliRot[") else None
    row = GATES.get(name)
    n_wires = len(letters) if letters else (row.wires or 3)
    parameters = [0.37, -1.1, 2.3][: 1 if letters else row.parameters]
    n = n_wires + len(values) + (1 if n_wires < 4 else 0)
    order = [int(wire) for wire in generator.permutation(n)]
    controls, wires = order[: len(values)], order[len(values) : len(values) + n_wires]
    if letters:
        matrix = qml.matrix(qml.PauliRot(*parameters, letters, range(n_wires)))
    elif name.startswith("Adjoint("):
        matrix = qml.matrix(qml.adjoint(getattr(qml, name[8:-1])(wires=range(n_wires))))
    else:
        matrix = qml.matrix(getattr(qml, name)(*parameters, wires=range(n_wires)))
    register, rho = filled(mixed, generator, n)
    if values:
        register.controlled(name, controls, values, wires, *parameters)
    else:
        register.gate(name, wires, *parameters)
    u = embedded(controlled(matrix, values), [*controls, *wires], n)
    assert_state(register, u @ rho @ u.conj().T)


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("values", [[], [1], [0], [1, 0]])
@pytest.mark.parametrize("targets", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["unitary", "matrix", "diagonal"])
def test_arrays_conjugate(mixed, n, kind, targets, values):
    if targets + len(values) > n:
        return
    generator = np.random.default_rng(10 * targets + len(values))
    matrix = random_complex(generator, 2**targets, 2**targets) / 2**targets
    if kind == "unitary":
        matrix = scipy.stats.unitary_group.rvs(2**targets, random_state=generator)
    if kind == "diagonal":
        matrix = np.diag(np.diag(matrix))
    order = [int(wire) for wire in generator.permutation(n)]
    controls, wires = order[: len(values)], order[len(values) : len(values) + targets]
    register, rho = filled(mixed, generator, n)
    if kind == "diagonal":
        register.diagonal(np.diag(matrix), wires, controls, values)
    else:
        register.unitary(matrix, wires, controls, values)
    u = embedded(controlled(matrix, values), [*controls, *wires], n)
    assert_state(register, u @ rho @ u.conj().T)


@pytest.mark.parametrize("wires", [[0], [4], [2], [3, 1], [0, 4], [4, 3], [1, 4, 2]])
def test_channels(mixed, wires):
    n, generator = 5, np.random.default_rng(len(wires))
    kraus = random_kraus(generator, len(wires))
    register, rho = filled(mixed, generator, n)
    register.superoperator(transfer(kraus), wires, checked=True)
    whole = [embedded(k, wires, n) for k in kraus]
    assert_state(register, sum(k @ rho @ k.conj().T for k in whole))


def test_many_operations_in_any_order(mixed):
    """Whatever waits, is fused or planned gives what operations one by one give."""
    n, generator = 6, np.random.default_rng(3)
    register, rho = filled(mixed, generator, n)
    for step in range(120):
        order = [int(wire) for wire in generator.permutation(n)]
        kind = step % 4 if step < 80 else int(generator.integers(5))
        if kind in (0, 1):
            kraus = random_kraus(generator, kind + 1, 2)
            register.superoperator(transfer(kraus), order[: kind + 1])
            whole = [embedded(k, order[: kind + 1], n) for k in kraus]
            rho = sum(k @ rho @ k.conj().T for k in whole)
        elif kind in (2, 3):
            name = ["CNOT", "CZ", "SWAP", "CRY", "Hadamard", "RX"][int(generator.integers(6))]
            angles = [0.7][: GATES[name].parameters]
            wires = order[: GATES[name].wires]
            register.gate(name, wires, *angles)
            u = embedded(qml.matrix(getattr(qml, name)(*angles, wires=wires)), wires, n)
            rho = u @ rho @ u.conj().T
        else:
            u = scipy.stats.unitary_group.rvs(8, random_state=generator)
            register.unitary(u, order[:3])
            u = embedded(u, order[:3], n)
            rho = u @ rho @ u.conj().T
    np.testing.assert_allclose(register.matrix, rho, atol=register.within(1e-13, 1e-5))


@pytest.mark.parametrize("wires", [[1], [2, 0], [0, 1, 2]])
def test_wires_are_replaced(mixed, wires):
    n, generator = 3, np.random.default_rng(1)
    register, rho = filled(mixed, generator, n)
    new = random_state(generator, len(wires))
    register.replace(new, wires)
    rest = [wire for wire in range(n) if wire not in wires]
    kept = qml.math.reduce_dm(rho, rest) if rest else np.ones((1, 1))
    expected = qml.math.expand_matrix(np.kron(new, kept), [*wires, *rest], wire_order=range(n))
    assert_state(register, expected)


@pytest.mark.parametrize("wires", [[0], [3, 1], [0, 1, 2, 3]])
def test_wires_are_prepared(mixed, wires):
    vector = random_complex(np.random.default_rng(2), 2 ** len(wires))
    vector /= np.linalg.norm(vector)
    register = mixed(4)
    register.prepare_wires(vector, wires)
    rest = [wire for wire in range(4) if wire not in wires]
    zero = np.zeros((2 ** len(rest),) * 2)
    zero[0, 0] = 1
    expected = np.kron(np.outer(vector, vector.conj()), zero)
    order = [*wires, *rest]
    assert_state(register, qml.math.expand_matrix(expected, order, wire_order=range(4)))


@pytest.mark.parametrize("wires", [[], [2], [3, 0], [1, 2, 0]])
def test_probabilities(mixed, wires):
    register, rho = filled(mixed, np.random.default_rng(4), 4)
    expected = np.diag(qml.math.reduce_dm(rho, wires or [0, 1, 2, 3])).real
    np.testing.assert_allclose(
        register.probabilities(wires), expected, atol=register.within(1e-14, 1e-6)
    )
    np.testing.assert_allclose(
        register.density_matrix(wires or [1]),
        qml.math.reduce_dm(rho, wires or [1]),
        atol=register.within(1e-14, 1e-6),
    )


TERMS = [
    (0.5, "", []),
    (-1.2, "XYZ", [2, 0, 1]),
    (0.7, "ZZ", [3, 0]),
    (2.0, "Y", [1]),
    (0.3, "XX", [0, 1]),
    (0.4, "XYX", [0, 0, 0]),
    (0.9, "YZ", [2, 3]),
]


def observable() -> np.ndarray:
    total = np.zeros((16, 16), complex)
    for coefficient, letters, wires in TERMS:
        factors = [embedded(LETTERS[x], [w], 4) for x, w in zip(letters, wires, strict=True)]
        total += coefficient * functools.reduce(np.matmul, factors, np.eye(16))
    return total


def test_expectation_values(mixed):
    register, rho = filled(mixed, np.random.default_rng(5), 4)
    o, within = observable(), register.within(1e-13, 1e-5)
    assert abs(register.pauli("expval_pauli", TERMS) - np.trace(o @ rho).real) < within
    assert abs(register.pauli("square_pauli", TERMS) - np.trace(o @ o @ rho).real) < within
    h = random_complex(np.random.default_rng(6), 4, 4)
    h = h + h.conj().T
    expected = np.trace(embedded(h, [3, 1], 4) @ rho).real
    assert abs(register.matrix_moment("expval_matrix", h, [3, 1]) - expected) < within


def test_seeds_are_observables(mixed):
    register, rho = filled(mixed, np.random.default_rng(7), 4)
    h = random_complex(np.random.default_rng(8), 4, 4)
    h, d = h + h.conj().T, np.random.default_rng(9).normal(size=8)
    seeds = [mixed(4) for _ in range(3)]
    for seed in seeds:
        seed.call("state_zero")
    seeds[0].add_pauli_words(TERMS)
    seeds[1].add_operator(h, [2, 0])
    seeds[2].add_diagonal(d, [3, 0, 1])
    expected = [observable(), embedded(h, [2, 0], 4), embedded(np.diag(d), [3, 0, 1], 4)]
    for seed, o in zip(seeds, expected, strict=True):
        value = np.trace(o @ rho).real
        assert abs(seed.inner(register) - value) < register.within(1e-13, 1e-5)
    seeds[0].scale_add(seeds[1], -0.5 + 3j)
    value = np.trace((expected[0] - 0.5 * expected[1]) @ rho).real
    assert abs(seeds[0].inner(register) - value) < register.within(1e-13, 1e-5)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("outcome", [0, 1])
@pytest.mark.parametrize("wire", [0, 2, 3])
def test_postselected_measurements_collapse(mixed, wire, outcome, reset):
    register, rho = filled(mixed, np.random.default_rng(wire), 4)
    assert register.measure(wire, reset, outcome) == outcome
    projector = embedded(np.diag([1 - outcome, outcome]), [wire], 4)
    rho = projector @ rho @ projector
    if reset and outcome:
        x = embedded(LETTERS["X"], [wire], 4)
        rho = x @ rho @ x
    assert_state(register, rho / np.trace(rho).real)


def test_outcomes_have_their_probabilities(mixed):
    register, rho = filled(mixed, np.random.default_rng(11), 3, seed=5)
    shots = register.sample([2, 0], 40_000)
    p = np.diag(qml.math.reduce_dm(rho, [2, 0])).real
    counts = np.bincount(shots, minlength=4)
    assert scipy.stats.chisquare(counts, 40_000 * p).pvalue > 1e-4
    ones = 0
    for _ in range(2000):
        copy = register.copy()
        ones += copy.measure(1)
        copy.release()
    likely = np.diag(qml.math.reduce_dm(rho, [1])).real[1]
    assert abs(ones / 2000 - likely) < 5 * np.sqrt(likely * (1 - likely) / 2000)


def test_what_is_impossible(mixed):
    register = mixed(2)
    register.gate("RY", [0], 1.1)
    register.superoperator(np.diag([1, 0.9, 0.9, 0.9]), [0])
    for name in ("SX", "SX", "CNOT", "CNOT"):
        register.gate(name, [1, 0][: GATES[name].wires])
    assert all(shot & 1 == 1 for shot in register.sample([], 1000))
    assert register.measure(1, postselect=0) == 0
    assert register.error[0] == ErrorCode.IMPOSSIBLE_POSTSELECTION


@pytest.mark.parametrize("derivatives", [1, 2])
def test_derivative_wires(mixed, derivatives):
    """A dual number's matrix acts on the derivative wire as on any other; gates on none."""
    n, generator = 3, np.random.default_rng(12)
    register, rho = filled(mixed, generator, n, derivatives=derivatives)
    a, b = generator.normal(size=(2, 4, 4))
    first = n + derivatives - 1
    nilpotent = np.array([[0, 0], [1, 0]])
    register.superoperator(np.kron(a, np.eye(2)) + np.kron(b, nilpotent), [1, first])
    u = scipy.stats.unitary_group.rvs(4, random_state=generator)
    register.unitary(u, [2, 0])
    part = register
    for _ in range(derivatives - 1):
        part = part.half(0)
    for which, matrix in ((0, a), (1, b)):
        half = part.half(which)
        coefficients = np.array([np.trace(w @ rho).real for w in words(n)]).reshape(4, 4, 4)
        image = np.einsum("ij,ajb->aib", matrix, coefficients).ravel()
        expected = sum(r * w for r, w in zip(image, words(n), strict=True)) / 2**n
        whole = embedded(u, [2, 0], n)
        assert half.derivatives == derivatives
        assert_state(half, whole @ expected @ whole.conj().T)
        half.release()
    if part is not register:
        part.release()


@pytest.mark.parametrize("spoil", ["gate", "phase", "unitary", "superoperator"])
def test_what_is_no_number_spoils(mixed, spoil):
    register = mixed(3)
    if spoil == "gate":
        register.gate("RX", [1], np.nan)
    elif spoil == "phase":
        register.global_phase(np.inf)
    elif spoil == "unitary":
        register.unitary(np.full((2, 2), np.nan), [0])
    else:
        register.superoperator(np.full((4, 4), np.nan), [0])
    register.gate("RY", [0], 0.1)
    assert np.isnan(register.probabilities()).all()
    assert np.isnan(register.pauli("expval_pauli", [(1.0, "Z", [2])]))
    register.sample([], 3)
    assert register.error[0] == ErrorCode.NOT_A_NUMBER


def test_errors(mixed):
    def error_of(act, wires: int = 3) -> int:
        register = mixed(wires)
        act(register)
        return register.error[0]

    assert error_of(lambda r: r.gate("CNOT", [0, 0])) == ErrorCode.OVERLAPPING_WIRES
    assert error_of(lambda r: r.gate("RX", [3], 0.1)) == ErrorCode.WIRE_OUT_OF_RANGE
    assert error_of(lambda r: r.superoperator(np.eye(4), [-1])) == ErrorCode.WIRE_OUT_OF_RANGE
    two = np.eye(16)
    assert error_of(lambda r: r.superoperator(two, [1, 1])) == ErrorCode.OVERLAPPING_WIRES
    wrong = np.diag([0.99, 1, 1, 1])
    code = ErrorCode.NOT_TRACE_PRESERVING
    assert error_of(lambda r: r.superoperator(wrong, [1], checked=True)) == code
    wrong[0, 0] = np.nan
    assert error_of(lambda r: r.superoperator(wrong, [1], checked=True)) == code
    assert error_of(lambda r: None, -1) == ErrorCode.NEGATIVE_QUBITS
    assert error_of(lambda r: None, 40) == ErrorCode.TOO_MANY_QUBITS
    assert error_of(lambda r: None, 20) == ErrorCode.OUT_OF_MEMORY


def test_a_part_of_the_engine_is_enough(mixed, precision, tmp_path):
    parts = single_mixed_in_parts() if precision == "single" else mixed_in_parts()
    functions = {"state_create", "state_release", "gate", "superoperator", "expval_pauli"}
    parts.build(functions, tmp_path / "part.so")
    register, whole = type(mixed(0))(ctypes.CDLL(str(tmp_path / "part.so")), 4), mixed(4)
    for each in (register, whole):
        each.gate("RY", [2], 0.4)
        each.gate("CNOT", [2, 0])
        each.superoperator(np.diag([1, 0.9, 0.8, 0.7]), [0])
    terms = [(1.0, "ZZ", [2, 0]), (0.5, "X", [0])]
    expected = whole.pauli("expval_pauli", terms)
    assert abs(register.pauli("expval_pauli", terms) - expected) < register.within(1e-15)
    register.release()
