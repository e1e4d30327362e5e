"""`deferred` and `tree-traversal` without shots: exact averages over all outcomes."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import for_loop, measure, qjit, while_loop
from diastase.capture.quantum_errors import UnsupportedMeasurementError, UnsupportedReturnError
from diastase_runtime.errors import ImpossiblePostselectionError

METHODS = ["deferred", "tree-traversal"]


def circuit(x, postselect=None, reset=False):
    qml.RX(x, 0)
    first = qml.measure(0, reset=reset)
    qml.cond(first, qml.RY)(1.0, 1)
    qml.RY(0.7, 2)
    second = qml.measure(1, postselect=postselect)
    qml.RY(0.5, 1)
    third = qml.measure(2, reset=True)
    qml.cond(third & ~first, qml.RX)(0.3, 2)
    qml.CNOT([1, 2])
    return (
        qml.expval(first),
        qml.var(first),
        qml.expval(qml.Z(1)),
        qml.var(qml.X(1)),
        qml.var(qml.Z(0) @ qml.Z(2)),
        qml.probs(op=[first, second, third]),
        qml.probs(op=third),
        qml.probs(wires=[2, 0]),
        qml.expval(qml.Hamiltonian([0.5, -1.0], [qml.Z(2) @ qml.X(1), qml.Y(0)])),
        qml.expval(first * third),
        qml.var(2 * first - second),
        qml.density_matrix([2, 0]),
        qml.purity([1]),
        qml.vn_entropy([0, 1]),
        qml.vn_entropy([2], log_base=2),
        qml.mutual_info([0], [1, 2]),
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("postselect", [None, 0, 1])
@pytest.mark.parametrize("method", METHODS)
def test_against_pennylane(method, postselect, reset):
    """PennyLane's `deferred`: its `tree-traversal` ignores the chance of what is postselected."""

    def body(x):
        return circuit(x, postselect, reset)

    compiled = qjit(qml.QNode(body, qml.device("lightning.qubit", wires=3), mcm_method=method))
    native = qml.QNode(body, qml.device("default.qubit"), mcm_method="deferred")
    for found, wanted in zip(compiled(1.2), native(1.2), strict=True):
        assert found.shape == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@given(
    angles=st.lists(st.floats(-3, 3), min_size=6, max_size=6),
    wires=st.lists(st.integers(0, 2), min_size=3, max_size=3),
    resets=st.lists(st.booleans(), min_size=3, max_size=3),
)
@settings(max_examples=25, deadline=None)
def test_random_circuits(angles, wires, resets):
    """Traced angles and wires: one program for all of them; resets are static."""
    key = tuple(resets)
    if key not in _compiled:
        _compiled[key] = qjit(_random_circuit("lightning.qubit", 3, "tree-traversal", key))
    found = _compiled[key](jnp.array(angles), jnp.array(wires))
    wanted = _random_circuit("default.qubit", None, "deferred", key)(np.array(angles), wires)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


_compiled = {}


def _random_circuit(device, wires, method, resets):
    @qml.qnode(qml.device(device, wires=wires), mcm_method=method)
    def body(angles, where):
        for wire in range(3):
            qml.RX(angles[wire], wire)
        outcomes = []
        for k, reset in enumerate(resets):
            wire = where[k] if wires else int(where[k])
            outcomes.append(qml.measure(wire, reset=reset))
            qml.cond(outcomes[-1], qml.RY)(angles[3 + k], (wire + 1) % 3)
            qml.CNOT([k, (k + 1) % 3])
        return (
            qml.probs(op=outcomes), qml.probs(wires=[0, 1, 2]),
            qml.expval(qml.X(0) @ qml.Y(1)), qml.var(qml.Z(2)),
        )  # fmt: skip

    return body


def test_outcomes_in_loops():
    """A loop with a traced count: every string of outcomes once."""

    @qml.qnode(qml.device("lightning.qubit", wires=1), mcm_method="deferred")
    def body(n, x):
        @for_loop(0, n, 1)
        def step(i, total):
            qml.RY(x, 0)
            return total + measure(0, reset=True) * 2**i

        total = step(0)
        return qml.expval(total), qml.var(total)

    chance = np.sin(0.4) ** 2
    program = qjit(body)
    for n in (1, 4, 7):
        mean, variance = program(n, 0.8)
        np.testing.assert_allclose(mean, chance * (2**n - 1))
        np.testing.assert_allclose(variance, chance * (1 - chance) * (4**n - 1) / 3)


@pytest.mark.parametrize("x", [0.4, 1.2, 3.0])
def test_repeat_until_success(x):
    """Endlessly many strings of outcomes: those that count are finitely many."""

    @qml.qnode(qml.device("lightning.qubit", wires=1), mcm_method="tree-traversal")
    def body(x):
        @while_loop(lambda done, tries: ~done)
        def step(done, tries):
            qml.RY(x, 0)
            return measure(0, reset=True), tries + 1

        _, tries = step(False, 0)
        return qml.expval(tries), qml.var(tries)

    chance = np.sin(x / 2) ** 2
    mean, variance = qjit(body)(x)
    np.testing.assert_allclose(mean, 1 / chance, rtol=1e-9)
    np.testing.assert_allclose(variance, (1 - chance) / chance**2, rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_without_measurements_in_the_middle(method):
    @qml.qnode(qml.device("lightning.qubit", wires=1), mcm_method=method)
    def body(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0)), qml.var(qml.Z(0)), qml.probs(), x + 1

    mean, variance, probs, classical = qjit(body)(0.6)
    np.testing.assert_allclose(mean, np.cos(0.6))
    np.testing.assert_allclose(variance, np.sin(0.6) ** 2)
    np.testing.assert_allclose(probs[0], np.cos(0.3) ** 2)
    assert classical == 1.6


@pytest.mark.parametrize("shots", [None, 50])
def test_device_without_wires(shots):
    """The wires that a circuit names may be known only when it is traced again."""

    @qml.qnode(qml.device("default.qubit"), mcm_method="deferred", shots=shots)
    def body(x):
        qml.RX(x, "a")
        outcome = measure("a")
        qml.CNOT(["a", 7])
        return qml.expval(outcome), qml.expval(qml.Z(7)), qml.probs(wires=[7, "a"])

    mean, z, probs = qjit(body)(2.0)
    np.testing.assert_allclose(z, 1 - 2 * mean, atol=1e-12)
    np.testing.assert_allclose(probs, [1 - mean, 0, 0, mean], atol=1e-12)


def test_in_a_loop_and_twice_in_a_program():
    @qml.qnode(qml.device("lightning.qubit", wires=1), mcm_method="deferred")
    def body(x):
        qml.RX(x, 0)
        outcome = measure(0)
        return {"mean": qml.expval(outcome), "angle": x}

    def program(xs):
        scanned = jax.lax.map(lambda x: body(x)["mean"], xs)
        return scanned, body(xs[0])

    angles = jnp.array([0.3, 0.9, 2.0])
    scanned, once = qjit(program)(angles)
    np.testing.assert_allclose(scanned, np.sin(angles / 2) ** 2)
    np.testing.assert_allclose(once["mean"], scanned[0])


def test_single_branch_statistics_of_outcomes():
    """One run, in which an outcome is what it is."""

    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def body():
        qml.Hadamard(0)
        m = measure(0)
        return m, qml.expval(m), qml.var(m), qml.probs(op=m), qml.probs(op=[m, ~m])

    program = qjit(body)
    for _ in range(10):
        outcome, mean, variance, probs, both = program()
        assert (mean, variance) == (outcome, 0)
        np.testing.assert_array_equal(probs, [1 - outcome, outcome])
        np.testing.assert_array_equal(both, np.eye(4)[2 if outcome else 1])


@pytest.mark.parametrize("method", METHODS)
def test_impossible_postselection(method):
    @qml.qnode(qml.device("lightning.qubit", wires=2), mcm_method=method)
    def body(x):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        measure(0, postselect=0)
        measure(1, postselect=1)
        return qml.expval(qml.Z(0))

    program = qjit(body)
    for _ in range(2):
        with pytest.raises(ImpossiblePostselectionError, match="wire 1 is never measured as 1"):
            program(1.0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda m: m, UnsupportedReturnError, "depends on mid-circuit outcomes"),
        (lambda m: qml.state(), UnsupportedMeasurementError, "not defined"),
        (lambda m: qml.sample(m), UnsupportedMeasurementError, "needs shots"),
        (lambda m: qml.expval([m, m]), ValueError, "sequences"),
    ],
)
def test_what_has_no_average(make, error, message):
    @qml.qnode(qml.device("lightning.qubit", wires=1), mcm_method="deferred")
    def body():
        qml.Hadamard(0)
        return make(measure(0))

    with pytest.raises(error, match=message):
        qjit(body)()
