"""Random nested observables on random states, in one program a few at a time.

An observable is drawn as a tree; `operator` builds it of PennyLane's classes, `matrix` of NumPy's
arrays. What is measured is the sum of it and its adjoint, which is Hermitian whatever was drawn.
The state is `default.qubit`'s.
"""

import warnings
from typing import Any

import numpy as np
import pennylane as qml
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diastase import qjit
from frontend.quantum.measurements.runner import DEVICE
from frontend.quantum.measurements.tables import WIRES, prepare

TOGETHER = 5
NUMBERS = np.array([0.7, -0.4, 1.3])
PLACES = np.array([1, 3, 0, 2])
PAULIS = {"X": qml.X, "Y": qml.Y, "Z": qml.Z, "H": qml.Hadamard, "I": qml.Identity}

Tree = tuple[Any, ...]


def hermitian(seed: int, wires: int) -> np.ndarray:
    """A Hermitian matrix."""
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(2**wires,) * 2) + 1j * generator.normal(size=(2**wires,) * 2)
    return (matrix + matrix.conj().T) / 2


def sparse(seed: int) -> np.ndarray:
    """A Hermitian matrix on two wires, half of it zero."""
    matrix = hermitian(seed, 2)
    return matrix * (np.abs(matrix) > np.median(np.abs(matrix)))


def vector(seed: int, wires: int) -> np.ndarray:
    """A state of some wires."""
    state = hermitian(seed, wires)[0]
    return state / np.linalg.norm(state)


SEEDS = st.integers(0, 99)
TWO = st.permutations(range(WIRES)).map(lambda wires: tuple(wires[:2]))
THREE = st.permutations(range(WIRES)).map(lambda wires: tuple(wires[:3]))
ONE = st.integers(0, WIRES - 1).map(lambda wire: (wire,))
LEAVES = st.one_of(
    st.tuples(st.sampled_from("XYZHI"), ONE),
    st.tuples(st.sampled_from("XYZ"), ONE),
    st.tuples(st.just("hermitian"), st.one_of(ONE, TWO, THREE), SEEDS),
    st.tuples(st.just("sparse"), TWO, SEEDS),
    st.tuples(st.just("basis state"), st.one_of(ONE, TWO, THREE), SEEDS),
    st.tuples(st.just("vector"), st.one_of(ONE, TWO), SEEDS),
    st.tuples(st.just("exp"), ONE, st.sampled_from("XYZ"), st.integers(0, 2)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["sum", "product"]), st.lists(inner, min_size=2, max_size=3)),
        st.tuples(st.just("scaled"), st.integers(0, 2), inner),
        st.tuples(st.just("Hamiltonian"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.just("adjoint"), inner),
        st.tuples(st.just("square"), inner),
    ),
    max_leaves=5,
)


def operator(tree: Tree, numbers: Any, places: Any) -> Any:  # noqa: C901 a case for each kind
    """An observable of PennyLane."""

    def inner(each: Tree) -> Any:
        return operator(each, numbers, places)

    def on(wires: tuple[int, ...]) -> list[Any]:
        return [places[wire] for wire in wires]

    match tree:
        case ("sum", parts):
            return qml.sum(*map(inner, parts))
        case ("product", parts):
            return qml.prod(*map(inner, parts))
        case ("scaled", number, part):
            return qml.s_prod(numbers[number], inner(part))
        case ("Hamiltonian", parts):
            return qml.Hamiltonian([numbers[k] for k in range(len(parts))], list(map(inner, parts)))
        case ("adjoint", part):
            return qml.adjoint(inner(part))
        case ("square", part):
            return qml.pow(inner(part), 2)
        case ("hermitian", wires, seed):
            return qml.Hermitian(hermitian(seed, len(wires)), on(wires))
        case ("sparse", wires, seed):
            return qml.SparseHamiltonian(scipy.sparse.csr_matrix(sparse(seed)), on(wires))
        case ("basis state", wires, seed):
            return qml.Projector([(seed >> k) & 1 for k in range(len(wires))], on(wires))
        case ("vector", wires, seed):
            return qml.Projector(vector(seed, len(wires)), on(wires))
        case ("exp", wires, letter, number):
            return qml.exp(PAULIS[letter](on(wires)[0]), numbers[number])
        case (letter, wires):
            return PAULIS[letter](on(wires)[0])
    raise AssertionError(tree)


def matrix(tree: Tree) -> np.ndarray:  # noqa: C901 a case for each kind
    """The same as a matrix on all wires."""
    match tree:
        case ("sum", parts):
            return np.sum([matrix(part) for part in parts], axis=0)
        case ("product", parts):
            product = np.eye(2**WIRES)
            for part in parts:
                product = product @ matrix(part)
            return product
        case ("scaled", number, part):
            return NUMBERS[number] * matrix(part)
        case ("Hamiltonian", parts):
            return np.sum([NUMBERS[k] * matrix(part) for k, part in enumerate(parts)], axis=0)
        case ("adjoint", part):
            return matrix(part).conj().T
        case ("square", part):
            return matrix(part) @ matrix(part)
        case ("hermitian", wires, seed):
            return on_all_wires(hermitian(seed, len(wires)), wires)
        case ("sparse", wires, seed):
            return on_all_wires(sparse(seed), wires)
        case ("basis state", wires, seed):
            bits = sum(((seed >> k) & 1) << (len(wires) - 1 - k) for k in range(len(wires)))
            return on_all_wires(np.diag(np.eye(2 ** len(wires))[bits]), wires)
        case ("vector", wires, seed):
            state = vector(seed, len(wires))
            return on_all_wires(np.outer(state, state.conj()), wires)
        case ("exp", wires, letter, number):
            pauli = qml.matrix(PAULIS[letter](0))
            number = NUMBERS[number]
            return on_all_wires(np.cosh(number) * np.eye(2) + np.sinh(number) * pauli, wires)
        case (letter, wires):
            return on_all_wires(qml.matrix(PAULIS[letter](0)), wires)
    raise AssertionError(tree)


def on_all_wires(small: np.ndarray, wires: tuple[int, ...]) -> np.ndarray:
    """A matrix on some places, on all wires."""
    return qml.math.expand_matrix(small, [int(PLACES[wire]) for wire in wires], range(WIRES))


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.lists(TREES, min_size=TOGETHER, max_size=TOGETHER),
    st.booleans(),
    st.booleans(),
    st.lists(st.floats(-3, 3), min_size=2 * WIRES, max_size=2 * WIRES),
)
def test_random_observables(trees, numbers_are_traced, wires_are_traced, angles):
    """Expectation values and variances."""

    @qjit
    @qml.qnode(DEVICE)
    def circuit(angles, numbers, places):
        prepare(angles)
        numbers = numbers if numbers_are_traced else NUMBERS
        places = places if wires_are_traced else [int(place) for place in PLACES]
        found = []
        for tree in trees:
            drawn = operator(tree, numbers, places)
            observable = qml.sum(drawn, qml.adjoint(operator(tree, numbers, places)))
            found.append((qml.expval(observable), qml.var(observable)))
        return found

    @qml.qnode(DEVICE)
    def state():
        prepare(angles)
        return qml.state()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PennyLane on what it thinks is not Hermitian
        found = circuit(np.array(angles), NUMBERS, PLACES)
    amplitudes = state()
    for (mean, variance), tree in zip(found, trees, strict=True):
        total = matrix(tree) + matrix(tree).conj().T
        scale = 1 + np.linalg.norm(total, 2)
        product = total @ amplitudes
        expected = np.vdot(amplitudes, product).real
        np.testing.assert_allclose(mean, expected, atol=1e-11 * scale)
        square = np.vdot(product, product).real
        np.testing.assert_allclose(variance, square - expected**2, atol=1e-11 * scale**2)
