"""Passes of measurements: the same results, from other circuits, which keep their control flow."""

import jax
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import DiastaseError, cond, ctrl, for_loop, measure, passes, qjit

DEVICE = qml.device("lightning.qubit", wires=3)


def layers(x, n):
    qml.RY(x, 0)

    @for_loop(0, n, 1)
    def loop(i):
        qml.RX(x * i, 1)
        qml.CNOT([0, 1])
        qml.RY(x, 2)

    loop()

    @cond(n > 2)
    def branch():
        ctrl(lambda: qml.Rot(x, 0.1, 0.2, wires=0), control=2)()

    branch()


def energies(x, n):
    layers(x, n)
    words = (2 * x) * qml.X(0) @ qml.Y(1) + 0.5 * qml.Z(0) + x * x * qml.Y(0) + 0.25 * qml.I(0)
    return {
        "energy": qml.expval(words + qml.X(2)),
        "others": [qml.expval(qml.Z(1)), 2 * x],
        "bits": qml.probs(wires=[0, 1]),
        "spread": qml.var(qml.X(1)),
    }


def commuting(x, n):
    layers(x, n)
    words = x * qml.X(0) @ qml.Y(1) + qml.X(0)
    return qml.expval(words), qml.var(qml.X(2)), qml.expval(qml.Y(1))


def same(found, wanted, atol):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, atol=atol)


def reference(function, *arguments):
    return qjit(qml.QNode(function, DEVICE))(*arguments)


@pytest.mark.parametrize(
    ("strategy", "runs"), [("default", 3), ("qwc", 3), ("wires", 4), (None, 7)]
)
def test_a_run_for_each_group(strategy, runs):
    split = passes.split_non_commuting(grouping_strategy=strategy)
    compiled = qjit(split(qml.QNode(energies, DEVICE)))
    for arguments in [(0.3, 3), (1.1, 2), (0.4, 0)]:
        same(compiled(*arguments), reference(energies, *arguments), 1e-10)
    assert str(compiled.jaxpr).count("allocate_qubits") == runs
    assert str(compiled.jaxpr).count("for_loop") == runs


def test_expectation_values_are_pennylanes():
    def circuit(x, n):
        layers(x, n)
        return qml.expval(x * qml.X(0) @ qml.Y(1) + qml.Z(0)), qml.probs(wires=1)

    found = qjit(passes.split_non_commuting(qml.QNode(circuit, DEVICE)))(0.3, 3)
    plain = qml.QNode(circuit, qml.device("default.qubit", wires=3))
    same(found, plain(0.3, 3), 1e-10)


@pytest.mark.parametrize("method", ["best", "adjoint", "parameter-shift"])
@pytest.mark.parametrize("name", ["split_non_commuting", "split_to_single_terms"])
def test_derivatives(name, method):
    def energy(qnode):
        return lambda x, n: qnode(x, n)["energy"]

    qnode = qml.QNode(energies, DEVICE, diff_method=method)
    found = qjit(jax.grad(energy(passes.apply_pass(name)(qnode))))(0.3, 3)
    step = 1e-5
    above, below = (reference(energies, 0.3 + move, 3)["energy"] for move in (step, -step))
    np.testing.assert_allclose(found, (above - below) / (2 * step), atol=1e-8)


def test_terms_are_measured_in_the_same_run():
    compiled = qjit(passes.split_to_single_terms(qml.QNode(energies, DEVICE)))
    same(compiled(0.3, 3), reference(energies, 0.3, 3), 1e-10)
    assert str(compiled.jaxpr).count("allocate_qubits") == 1


@pytest.mark.parametrize(
    "options", [{}, {"supported_base_obs": (qml.X, "PauliZ")}, {"to_eigvals": True}]
)
def test_diagonal_measurements(options):
    compiled = qjit(passes.diagonalize_measurements(qml.QNode(commuting, DEVICE), **options))
    same(compiled(0.3, 3), reference(commuting, 0.3, 3), 1e-10)


def test_eigenvalues_of_averages():
    """Of all outcomes of a measurement in the middle, and differentiated by shifted runs."""

    def circuit(x):
        qml.RY(x, 0)
        outcome = qml.measure(0)
        qml.cond(outcome, qml.RX)(x, 1)
        return qml.var(qml.Y(1)), qml.expval(outcome), qml.expval(qml.X(0))

    qnode = qml.QNode(circuit, DEVICE, mcm_method="deferred")
    found = qjit(passes.diagonalize_measurements(qnode, to_eigvals=True))(0.7)
    same(found, qml.QNode(circuit, qml.device("default.qubit"))(0.7), 1e-10)
    shifted = qml.QNode(commuting, DEVICE, diff_method="parameter-shift")
    spread = passes.diagonalize_measurements(shifted, to_eigvals=True)
    plain = qml.QNode(commuting, DEVICE)
    wanted = qjit(jax.jacobian(plain))(0.3, 3)
    same(qjit(jax.jacobian(spread))(0.3, 3), wanted, 1e-8)


@pytest.mark.parametrize(
    ("name", "function"),
    [("split_non_commuting", energies), ("measurements_from_samples", commuting)],
)
def test_shots(name, function):
    """Each partition by itself; three standard deviations of a thousand runs are not asked for."""
    qnode = qml.set_shots(passes.apply_pass(name)(qml.QNode(function, DEVICE)), [20_000, 30_000])
    parts = qjit(qnode, seed=5)(0.3, 3)
    assert len(parts) == 2
    for part in parts:
        same(part, reference(function, 0.3, 3), 0.05)


def test_counts_come_from_the_same_samples():
    @passes.measurements_from_samples
    @qml.set_shots(200)
    @qml.qnode(DEVICE)
    def circuit():
        qml.Hadamard(0)
        qml.Hadamard(1)
        return qml.expval(qml.X(0)), qml.counts(qml.X(0)), qml.expval(qml.Z(1)), qml.probs(wires=1)

    mean, counts, other, bits = qjit(circuit, seed=3)()
    assert (mean, counts[1.0]) == (1, 200)
    np.testing.assert_allclose(bits[0] - bits[1], other, atol=1e-12)


def test_outcomes_stay_with_the_first_part():
    @passes.split_non_commuting
    @qml.set_shots(400)
    @qml.qnode(DEVICE)
    def circuit():
        qml.Hadamard(0)
        outcome = measure(0)
        return qml.expval(qml.Z(0)), qml.expval(outcome), qml.expval(qml.X(0)), qml.sample(outcome)

    z, mean, x, samples = qjit(circuit, seed=2)()
    np.testing.assert_allclose([z, np.mean(samples)], [1 - 2 * mean, mean], atol=1e-12)
    assert abs(x) < 0.2


def test_wires_that_only_another_part_measures():
    """A device without wires has those of all measurements."""

    def circuit():
        qml.Hadamard(0)
        return qml.expval(qml.X(2)), qml.expval(qml.Z(2)), qml.probs(), qml.expval(qml.X(1))

    device = qml.device("lightning.qubit")
    found = qjit(passes.split_non_commuting(qml.QNode(circuit, device)))()
    same(found, qjit(qml.QNode(circuit, device))(), 1e-12)


def test_traced_wires_are_refused_where_they_are_compared():
    def circuit(wire):
        qml.RX(0.3, wire)
        return qml.expval(qml.Z(wire) + qml.Y(0))

    compiled = qjit(passes.split_to_single_terms(qml.QNode(circuit, DEVICE)))
    same(compiled(1), reference(circuit, 1), 1e-12)
    with pytest.raises(DiastaseError, match="compares wires"):
        qjit(passes.split_non_commuting(qml.QNode(circuit, DEVICE)))(1)


def test_measurements_that_do_not_commute_are_not_diagonalized():
    with pytest.raises(DiastaseError, match="non-commuting"):
        qjit(passes.diagonalize_measurements(qml.QNode(energies, DEVICE)))(0.3, 3)


def test_pennylanes_transforms_keep_loops():
    qnode = qml.transforms.split_non_commuting(qml.QNode(energies, DEVICE))
    compiled = qjit(qml.transforms.merge_rotations(qnode))
    same(compiled(0.3, 3), reference(energies, 0.3, 3), 1e-10)
    assert "for_loop" in str(compiled.jaxpr)


def test_snapshots_and_batches():
    def circuit(x):
        qml.RX(x, 0)
        qml.Snapshot()
        return qml.expval(qml.Z(0)), qml.expval(qml.Y(0))

    split = passes.split_non_commuting(qml.QNode(circuit, DEVICE))
    same(qjit(split)(0.3), reference(circuit, 0.3), 1e-12)

    def broadcast(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0) + qml.Y(0)), qml.probs(wires=1)

    angles = np.array([0.1, 0.2])
    split = passes.split_non_commuting(qml.QNode(broadcast, DEVICE))
    same(qjit(split)(angles), reference(broadcast, angles), 1e-12)


WORDS = st.lists(
    st.tuples(st.floats(-2, 2), st.text("IXYZ", min_size=3, max_size=3)), min_size=1, max_size=5
)


@settings(max_examples=6, deadline=None)
@given(WORDS, WORDS)
def test_random_observables(first, second):
    def circuit(x):
        layers(x, 2)
        sums = [
            qml.Hamiltonian(*zip(*((c, qml.pauli.string_to_pauli_word(w)) for c, w in words),
                                 strict=True))
            for words in (first, second)
        ]  # fmt: skip
        return [qml.expval(observable) for observable in sums]

    same(qjit(passes.split_non_commuting(qml.QNode(circuit, DEVICE)))(0.3),
         reference(circuit, 0.3), 1e-10)  # fmt: skip
