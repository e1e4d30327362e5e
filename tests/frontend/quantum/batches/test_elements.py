"""What the elements of a batch may contain; with any number of threads the results are the same."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, measure, qjit
from diastase_runtime.errors import NegativeSizeError, WireOutOfRangeError

DEVICE = qml.device("default.qubit", wires=3)
RANDOM = np.random.default_rng(7)
X = jnp.array(RANDOM.normal(size=(23, 3)))
STATES = RANDOM.normal(size=(6, 8)) + 1j * RANDOM.normal(size=(6, 8))
STATES /= np.linalg.norm(STATES, axis=1)[:, None]
MATRICES = np.stack([np.linalg.qr(np.reshape(STATES[:2], (4, 4)) + k)[0] for k in range(5)])
Configure = Callable[[int], None]


def with_any_threads(configure: Configure, program: Callable, *arguments: object) -> list:
    """The leaves of the results, after they were found equal with 1, 2 and 5 threads."""
    results = []
    for threads in (1, 2, 5):
        configure(threads)
        results.append(jax.tree.leaves(program(*arguments)))
    for others in results[1:]:
        for own, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(own, other)
    return results[0]


@qml.qnode(DEVICE)
def states(x):
    qml.RX(x[0], 0)
    qml.CNOT([0, 1])
    qml.RY(x[1], 2)
    return qml.state(), qml.probs([0, 2])


@qml.qnode(DEVICE)
def on_wires(wire):
    qml.RX(0.4, wire)
    qml.CNOT([0, 2])
    return qml.probs()


@qml.qnode(DEVICE)
def prepared(amplitudes):
    qml.StatePrep(amplitudes, [0, 1, 2])
    qml.Hadamard(1)
    return qml.state()


@qml.qnode(DEVICE)
def matrices(matrix):
    qml.QubitUnitary(matrix, [0, 2])
    observable = (matrix + jnp.conj(matrix).T)[:2, :2]
    return qml.expval(qml.Hermitian(observable, 1)), qml.expval(qml.Z(2))


@qml.qnode(DEVICE)
def with_callback(x):
    angle = jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float64), x[0])
    qml.RX(angle, 0)
    return qml.expval(qml.Z(0))


BODIES = {
    "states": (states, X),
    "wires": (on_wires, np.array([0, 1, 2, 1, 0])),
    "amplitudes": (prepared, STATES),
    "matrices": (matrices, MATRICES),
    "callbacks": (with_callback, X),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", BODIES)
def test_bodies(name, configure):
    node, batch = BODIES[name]
    found = with_any_threads(configure, qjit(jax.vmap(node)), batch)
    each = [jax.tree.leaves(node(row)) for row in batch]
    for own, *others in zip(found, *each, strict=True):
        np.testing.assert_allclose(own, np.stack(others), atol=1e-12)


def test_classical_work_and_loops(configure):
    @qml.qnode(DEVICE)
    def node(x):
        values = jnp.linalg.eigh(jnp.outer(x, x) + jnp.eye(3))[0]

        @for_loop(0, 3, 1)
        def loop(wire):
            qml.RX(values[wire], wire)

        loop()
        return qml.expval(qml.Z(0) @ qml.Z(2)), jnp.sort(x)

    found = with_any_threads(configure, qjit(jax.vmap(node)), X)
    values = np.linalg.eigvalsh(X[:, :, None] * X[:, None, :] + np.eye(3))
    np.testing.assert_allclose(found[0], np.cos(values[:, 0]) * np.cos(values[:, 2]), atol=1e-12)
    np.testing.assert_array_equal(found[1], np.sort(X, axis=1))


def test_draws_are_independent_and_do_not_depend_on_threads(configure):
    @qml.set_shots(500)
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        qml.RY(x, 1)
        return qml.expval(qml.Z(0)), qml.sample(wires=[0, 1]), qml.probs([1])

    same = jnp.full(40, 0.9)
    means, samples, _ = with_any_threads(configure, qjit(jax.vmap(node), seed=5), same)
    assert len(set(np.asarray(means).tolist())) > 10
    assert abs(np.mean(means) - np.cos(0.9)) < 5 / np.sqrt(40 * 500)
    assert samples.shape == (40, 500, 2)
    others, *_ = qjit(jax.vmap(node), seed=6)(same)
    assert np.any(np.asarray(others) != means)


def test_outcomes_in_the_middle(configure):
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        outcome = measure(0)
        qml.RX(np.pi * outcome, 1)
        return qml.expval(qml.Z(1)), outcome

    signs, outcomes = with_any_threads(configure, qjit(jax.vmap(node), seed=5), jnp.full(2000, 1.1))
    np.testing.assert_allclose(signs, 1 - 2 * np.asarray(outcomes), atol=1e-12)
    assert abs(np.mean(outcomes) - np.sin(0.55) ** 2) < 0.06


def test_methods_that_run_a_circuit_several_times(configure):
    def body(x):
        qml.RX(x, 0)
        outcome = measure(0)
        qml.cond(outcome, qml.RY)(x, 1)
        return qml.expval(qml.Z(1))

    angles = np.array([0.3, 1.2, -0.4])
    exact = np.cos(angles / 2) ** 2 + np.sin(angles / 2) ** 2 * np.cos(angles)
    for method in ("deferred", "tree-traversal"):
        node = qml.QNode(body, DEVICE, mcm_method=method)
        (found,) = with_any_threads(configure, qjit(jax.vmap(node)), angles)
        np.testing.assert_allclose(found, exact, atol=1e-12)
        np.testing.assert_allclose(qjit(node)(angles), exact, atol=1e-12)
    node = qml.set_shots(qml.QNode(body, DEVICE, mcm_method="one-shot"), 2000)
    (found,) = with_any_threads(configure, qjit(jax.vmap(node), seed=2), angles)
    np.testing.assert_allclose(found, exact, atol=0.1)


@pytest.mark.parametrize("wires", [[0, 1, 7, 9, 2, 8], [9] * 50, [0, 1, 2] * 20 + [5] + [4] * 30])
def test_the_first_error_is_raised(wires, configure):
    program = qjit(jax.vmap(on_wires))
    first = next(wire for wire in wires if wire > 2)
    for threads in (1, 2, 5):
        configure(threads)
        with pytest.raises(WireOutOfRangeError, match=f"RX on wire {first} of") as raised:
            program(np.array(wires))
        assert raised.value.span is not None
    np.testing.assert_allclose(program(np.array([1] * len(wires))).sum(1), 1)


def test_exceptions_of_callbacks():
    def checked(a):
        if a > 1:
            raise ValueError(f"{a} is too large")
        return a

    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(jax.pure_callback(checked, jax.ShapeDtypeStruct((), np.float64), x), 0)
        return qml.expval(qml.Z(0))

    with pytest.raises(ValueError, match=r"2\.0 is too large"):
        qjit(jax.vmap(node))(np.array([0.5, 2.0, 3.0]))


def test_elements_that_are_abandoned_leave_nothing_behind(configure):
    @qml.qnode(DEVICE)
    def node(x, n):
        twice = jnp.sin(x) * 2
        qml.RX(jnp.sum(jnp.ones(n)) + jnp.sum(twice), 0)
        return qml.expval(qml.Z(0)), twice

    program = qjit(jax.vmap(node, (0, None)))
    configure(3)
    before = program(X, 2)
    resident = resident_pages()
    for _ in range(400):
        with pytest.raises(NegativeSizeError, match="size -3"):
            program(X, -3)
    assert resident_pages() - resident < 1000
    np.testing.assert_array_equal(program(X, 2)[0], before[0])


def resident_pages() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


def test_calls_from_several_threads(configure):
    configure(3)
    program = qjit(jax.vmap(jax.grad(lambda x: states(x)[1][0])))
    expected = np.asarray(program(X)).tobytes()
    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(lambda _: np.asarray(program(X)).tobytes(), range(100)))
    assert set(found) == {expected}


DTYPES = (jnp.bfloat16, np.float16, np.float32, np.int8, np.uint8, np.uint32, np.bool_)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_and_numbers_of_any_type(dtype):
    @qml.qnode(DEVICE)
    def node(x, y):
        qml.RX(jnp.asarray(x, jnp.float64), 0)
        qml.RY(jnp.asarray(y, jnp.float64), 0)
        return qml.expval(qml.Z(0)), x, jnp.stack([x, y])

    x = jnp.array([0, 1, 2.3]).astype(dtype)
    expected = np.array(x, np.float64)
    found, same, pairs = qjit(jax.vmap(node, (0, None)))(x, x[1])
    np.testing.assert_allclose(found, np.cos(expected) * np.cos(expected[1]), atol=1e-12)
    assert same.dtype == x.dtype
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(pairs, jnp.stack([x, jnp.broadcast_to(x[1], (3,))], axis=1))


def test_shapes_of_results_and_costs():
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(jnp.sum(x), 0)
        return qml.expval(qml.Z(0)), x[:0], jnp.outer(x, x)

    program = qjit(jax.vmap(jax.vmap(node)), abstracted_axes={0: "a", 1: "b", 2: "c"})
    for shape in ((2, 3, 4), (0, 3, 4), (2, 0, 1), (1, 1, 2)):
        x = RANDOM.normal(size=shape)
        values, empty, products = program(x)
        np.testing.assert_allclose(values, np.cos(x.sum(-1)), atol=1e-12)
        assert empty.shape == (*shape[:2], 0)
        np.testing.assert_array_equal(products, x[..., :, None] * x[..., None, :])
    costs = [qjit(jax.vmap(node)).lower(np.ones((n, 3))).cost_analysis() for n in (1, 10)]
    assert costs[1]["flops"] == 10 * costs[0]["flops"] > 0


def test_batches_in_loops_and_of_parameters():
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    @qjit
    def repeated(x):
        return for_loop(0, 3, 1)(lambda _, y: jax.vmap(node)(y))(x)

    x = np.linspace(0, 1, 9)
    np.testing.assert_allclose(repeated(x), np.cos(np.cos(np.cos(x))), atol=1e-12)
    grid = np.stack([x, 2 * x])
    np.testing.assert_allclose(qjit(jax.vmap(node))(grid), np.cos(grid), atol=1e-12)
    np.testing.assert_allclose(qjit(node)(x), np.cos(x), atol=1e-12)
    assert "diastase_element_" in qjit(node).lower(x).as_text("stablehlo")


@pytest.mark.sample(10)
@pytest.mark.parametrize("dynamic", [{}, {0: "n"}, {1: "m"}, {0: "n", 1: "m"}])
@pytest.mark.parametrize("shape", [(4, 3), (0, 3), (4, 0), (0, 0)])
@pytest.mark.parametrize("dtype", ["float64", "uint8"])
def test_parts_of_arrays_of_any_size(dynamic: dict, shape: tuple, dtype: str):
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(jnp.sum(x) * 1.0, 0)
        return qml.expval(qml.Z(0)), qml.probs([0, 1])

    x = (np.arange(np.prod(shape)).reshape(shape) % 3).astype(dtype)
    value, probabilities = qjit(jax.vmap(node), abstracted_axes=(dynamic,))(x)
    np.testing.assert_allclose(value, np.cos(x.astype(float).sum(1)), atol=1e-12)
    np.testing.assert_allclose(probabilities[:, 0], (1 + np.asarray(value)) / 2, atol=1e-12)
    assert probabilities.shape == (shape[0], 4)
