"""Mid-circuit measurements with shots: outcomes of each shot, by every method."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit, switch, while_loop
from diastase.capture.quantum_errors import UnsupportedMeasurementError, UnsupportedObservableError
from diastase_runtime.errors import ImpossiblePostselectionError

SHOTS = 20_000
METHODS = ["one-shot", "deferred", "tree-traversal"]
SPREAD = 4.9 / np.sqrt(SHOTS)


def body(postselect=None):
    qml.RX(1.2, 0)
    first = qml.measure(0)
    qml.cond(first, qml.RY)(1.0, 1)
    qml.RY(0.7, 2)
    second = qml.measure(1, postselect=postselect)
    qml.CRX(0.8, wires=[1, 2])
    third = qml.measure(2, reset=True)
    qml.cond(third, qml.RX)(0.4, 2)
    qml.cond(first, qml.RY)(0.3, 0)
    return first, second, third


def joint_statistics(outcomes):
    first, second, third = outcomes
    return (
        qml.probs(op=[first, second, third]),
        qml.probs(wires=[0, 1, 2]),
        qml.expval(first),
        qml.expval(qml.Z(0) @ qml.X(2)),
        qml.expval(first * third + 2 * second),
        qml.probs(op=third),
    )


def exact(postselect):
    """The averages that PennyLane finds; its `deferred` is right with postselection, too."""

    @qml.qnode(qml.device("default.qubit"), mcm_method="deferred")
    def circuit():
        return joint_statistics(body(postselect))

    return circuit()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("method", "postselect"),
    [("one-shot", None), ("one-shot", 0), ("one-shot", 1), ("deferred", 1), ("tree-traversal", 0)],
)
def test_statistics(method, postselect, frequencies):
    @qml.qnode(qml.device("lightning.qubit", wires=3), shots=SHOTS, mcm_method=method)
    def circuit():
        first, second, third = outcomes = body(postselect)
        return (
            *joint_statistics(outcomes),
            qml.sample([first, second, third]),
            qml.counts([first, second, third], all_outcomes=True),
            qml.counts(third),
            qml.sample(first),
            qml.var(first),
            qml.sample(qml.Z(0)),
            qml.counts(first + 2 * third),
        )

    results = qjit(circuit, seed=len(method))()
    wanted = exact(postselect)
    samples, counts, third, first, variance, z, sums = results[6:]
    valid = len(samples)
    assert valid == SHOTS if postselect is None else valid < SHOTS
    for found, expected in zip(results[:6], wanted, strict=True):
        if np.shape(expected):
            frequencies(np.asarray(found) * valid, np.asarray(expected))
        else:
            assert abs(found - expected) < 3 * 4.9 / np.sqrt(valid)
    strings, numbers = np.unique(samples @ np.array([4, 2, 1]), return_counts=True)
    assert {f"{s:03b}": n for s, n in zip(strings, numbers, strict=True)} == {
        key: number for key, number in counts.items() if number
    }
    assert list(counts) == [f"{key:03b}" for key in range(8)]
    np.testing.assert_array_equal(first, samples[:, 0])
    np.testing.assert_allclose(variance, np.var(first), atol=1e-15)
    assert third == dict(enumerate(np.bincount(samples[:, 2])))
    assert z.shape == (valid,)
    values, numbers = np.unique(samples @ np.array([1, 0, 2]), return_counts=True)
    assert sums == dict(zip(values, numbers, strict=True))


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", METHODS)
def test_fill_shots(method, frequencies):
    """As many shots as asked for, distributed as the postselected outcome leaves them."""

    @qml.qnode(
        qml.device("lightning.qubit", wires=3), shots=SHOTS, mcm_method=method,
        postselect_mode="fill-shots",
    )  # fmt: skip
    def circuit():
        outcomes = body(1)
        return (*joint_statistics(outcomes), qml.sample(outcomes[0]))

    results = qjit(circuit, seed=2)()
    assert results[-1].shape == (SHOTS,)
    for found, expected in zip(results[:6], exact(1), strict=True):
        if np.shape(expected):
            frequencies(np.asarray(found) * SHOTS, np.asarray(expected))
        else:
            assert abs(found - expected) < 3 * SPREAD


def test_traced_observables_shot_by_shot():
    """Coefficients, matrices and classical values are the same for all shots, and come back."""

    def body(coefficients, matrix):
        scaled = coefficients * 2.0
        qml.RX(1.2, 0)
        qml.cond(qml.measure(0), qml.RY)(1.0, 1)
        qml.CNOT([0, 1])
        hamiltonian = qml.Hamiltonian(scaled, [qml.Z(1), qml.X(0) @ qml.Z(1)])
        return (
            qml.expval(hamiltonian),
            qml.expval(qml.Hermitian(matrix + matrix.conj().T, 1)),
            qml.probs(wires=[1, 0]),
        )

    coefficients = np.array([0.7, -0.2])
    matrix = np.array([[0.5, 0.3j], [0.1, -1.0]])
    device = qml.device("lightning.qubit", wires=2)

    def program(coefficients, matrix):
        shots = qml.QNode(lambda *args: (body(*args), args[0]), device, shots=SHOTS)
        exact = qml.QNode(body, device, mcm_method="deferred")
        return shots(coefficients, matrix), exact(coefficients, matrix)

    (found, kept), wanted = qjit(program, seed=3)(coefficients, matrix)
    np.testing.assert_array_equal(kept, coefficients)
    for one, other, bound in zip(found, wanted, (1.8, 2.1, 0.5), strict=True):
        np.testing.assert_allclose(one, other, atol=bound * SPREAD)


def test_one_branch():
    """All shots have the outcomes of the one run."""

    @qml.qnode(
        qml.device("lightning.qubit", wires=2), shots=50, mcm_method="single-branch-statistics"
    )
    def circuit():
        qml.Hadamard(0)
        outcome = measure(0)
        cond(outcome)(lambda: qml.X(1))()
        return outcome, qml.sample(wires=[0, 1]), qml.expval(outcome), qml.counts(outcome)

    program = qjit(circuit)
    seen = set()
    for _ in range(60):
        outcome, samples, mean, counts = program()
        np.testing.assert_array_equal(samples, np.full((50, 2), int(outcome)))
        assert mean == outcome
        assert counts == {int(outcome): 50}
        seen.add(bool(outcome))
    assert seen == {True, False}


def test_shots_follow_their_own_outcomes():
    """Feed-forward in every kind of control flow, shot by shot."""

    @qml.qnode(qml.device("lightning.qubit", wires=4), shots=400)
    def circuit(n):
        qml.Hadamard(0)
        first = measure(0)

        @for_loop(0, n, 1)
        def flips(i, parity):
            qml.Hadamard(1)
            outcome = measure(1, reset=True)
            cond(outcome)(lambda: qml.X(2))()
            return parity ^ outcome

        parity = flips(False)

        @while_loop(lambda done, tries: ~done)
        def until_one(done, tries):
            qml.RY(1.5, 1)
            outcome = measure(1, reset=True)
            return outcome, tries + 1

        _, tries = until_one(False, 0)

        @switch(tries % 2)
        def even():
            qml.I(3)

        @even.branch(1)
        def odd():
            qml.X(3)

        even()
        return (
            qml.sample([first, parity]), qml.sample(wires=[0, 2]), qml.sample(tries),
            qml.sample(wires=3), first, tries, n * 2,
        )  # fmt: skip

    outcomes, bits, tries, last, first, raw_tries, twice = qjit(circuit, seed=8)(3)
    np.testing.assert_array_equal(outcomes, bits)
    np.testing.assert_array_equal(tries % 2, last[:, 0])
    np.testing.assert_array_equal(first, outcomes[:, 0].astype(bool))
    np.testing.assert_array_equal(raw_tries, tries)
    assert twice == 6
    success = np.sin(0.75) ** 2
    assert abs(tries.mean() - 1 / success) < 4.9 * np.sqrt(1 - success) / success / 20


@pytest.mark.parametrize("mode", ["hw-like", "fill-shots"])
def test_shot_vectors_and_traced_shots(mode):
    @qml.qnode(qml.device("lightning.qubit", wires=1), postselect_mode=mode)
    def circuit():
        qml.Hadamard(0)
        measure(0, postselect=1)
        qml.Hadamard(0)
        return qml.sample(measure(0)), qml.sample()

    found = qjit(lambda n: qml.set_shots(circuit, [n, 30])(), seed=1)(100)
    sizes = [len(part[0]) for part in found]
    assert sizes == [100, 30] if mode == "fill-shots" else (30 < sizes[0] < 70 and sizes[1] < 30)
    for outcomes, samples in found:
        np.testing.assert_array_equal(outcomes, samples[:, 0])


def test_no_shot_is_valid():
    """As PennyLane has it: no samples, and no numbers."""

    @qml.qnode(qml.device("lightning.qubit", wires=1), shots=10)
    def circuit():
        outcome = measure(0, postselect=1)
        return qml.sample(outcome), qml.expval(qml.Z(0)), qml.counts(), qml.probs()

    samples, mean, counts, probs = qjit(circuit)()
    assert samples.shape == (0,)
    assert np.isnan(mean)
    assert counts == {}
    assert np.isnan(probs).all()


@pytest.mark.thorough
def test_shots_that_cannot_be_filled():
    @qml.qnode(qml.device("lightning.qubit", wires=1), shots=3, postselect_mode="fill-shots")
    def circuit():
        measure(0, postselect=1)
        return qml.sample()

    program = qjit(circuit)
    for _ in range(2):
        with pytest.raises(ImpossiblePostselectionError, match="never measured as 1"):
            program()


def test_observable_of_outcomes():
    @qml.qnode(qml.device("lightning.qubit", wires=1), shots=3)
    def circuit():
        qml.Hadamard(0)
        return qml.expval(measure(0) * 1.0 * qml.X(0))

    with pytest.raises(UnsupportedObservableError, match="depends on mid-circuit outcomes"):
        qjit(circuit)()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: qml.probs(op=2 * m), "truth values"),
        (lambda m: qml.counts([m, 2 * m]), "truth values"),
        (lambda m: qml.counts(m + 1, all_outcomes=True), "which there are is not known"),
    ],
)
def test_what_outcomes_cannot_give(make, message):
    @qml.qnode(qml.device("lightning.qubit", wires=1), shots=3)
    def circuit():
        return make(measure(0))

    with pytest.raises(UnsupportedMeasurementError, match=message):
        qjit(circuit)()


def test_seeds():
    @qml.qnode(qml.device("lightning.qubit", wires=1), shots=60)
    def circuit():
        qml.Hadamard(0)
        return qml.sample(measure(0))

    seeded = qjit(circuit, seed=5)
    np.testing.assert_array_equal(seeded(), seeded())
    unseeded = qjit(circuit)
    assert (unseeded() != unseeded()).any()


def test_a_qnode_within_a_qnode_has_its_own_outcomes():
    """The inner circuit's single outcome does not follow the outer one's script."""

    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def inner():
        qml.Hadamard(0)
        return measure(0)

    @qml.qnode(qml.device("lightning.qubit", wires=1), shots=2000)
    def outer():
        angle = jnp.pi * inner()
        qml.RX(angle, 0)
        measure(0, postselect=1)
        return qml.sample()

    samples = qjit(outer, seed=4)()
    assert (samples == 1).all()
    assert abs(len(samples) - 1000) < 4.9 * np.sqrt(500)
