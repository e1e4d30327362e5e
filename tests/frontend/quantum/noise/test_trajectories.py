"""Trajectories: their means are the density matrix's, outcomes and feedback are each one's own."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, grad, measure, passes, qjit, set_method
from diastase.capture.quantum_errors import (
    InvalidSettingError,
    UnsupportedMeasurementError,
    UnsupportedReturnError,
)
from diastase.primitives.errors import NoDerivativeError
from diastase_runtime.errors import (
    InvalidValueError,
    NotTracePreservingError,
    WireOutOfRangeError,
)

WIRES = 3
NUMBER = 4000
DEVICE = qml.device("default.mixed", wires=WIRES)

_UNITARY = np.linalg.qr(np.random.default_rng(3).normal(size=(12, 12, 2)) @ [1, 1j])[0]
KRAUS = [np.sqrt(0.7) * _UNITARY[:4, :4], np.sqrt(0.7) * _UNITARY[4:8, :4]]
KRAUS = [
    *KRAUS,
    np.sqrt(0.7) * _UNITARY[8:, :4],
    np.sqrt(0.3) * np.kron([[0, 1], [1, 0]], np.eye(2)),
]
"""Not a mixture of unitaries, on two wires."""


def damping(p, number):
    """Kraus operators of weak damping, of several wires at once."""
    single = [np.diag([1, np.sqrt(1 - p)]), np.array([[0, np.sqrt(p)], [0, 0]])]
    words = itertools.product(single, repeat=number)
    return [functools.reduce(np.kron, word) for word in words]


CHANNELS = [
    lambda p, w: qml.AmplitudeDamping(p, w[0]),
    lambda p, w: qml.GeneralizedAmplitudeDamping(p, 0.4 + p / 2, w[0]),
    lambda p, w: qml.PhaseDamping(p, w[0]),
    lambda p, w: qml.DepolarizingChannel(p, w[0]),
    lambda p, w: qml.BitFlip(p, w[0]),
    lambda p, w: qml.PhaseFlip(p, w[0]),
    lambda p, w: qml.ResetError(p / 2, p / 3, w[0]),
    lambda p, w: qml.PauliError("XZY", p, [w[2], w[0], w[1]]),
    lambda p, w: qml.PauliError("YX", p, [w[2], w[0]]),
    lambda p, w: qml.PauliError("IYI", p, [w[2], w[0], w[1]]),
    lambda p, w: qml.ThermalRelaxationError(p, 1.0, 0.8, 0.3, w[0]),
    lambda p, w: qml.ThermalRelaxationError(p, 1.0, 1.6, 0.3, w[0]),
    lambda p, w: qml.QubitChannel(KRAUS, [w[1], w[0]]),
    lambda p, w: qml.QubitChannel(damping(0.1, 2), [w[2], w[0]]),
    lambda p, w: qml.QubitChannel(damping(0.1, 3), w),
    lambda p, w: qml.QubitChannel(
        [jnp.sqrt(1 - p) * np.eye(4), jnp.sqrt(p) * np.eye(4)[::-1]], w[:2]
    ),
]
GATES = [
    lambda x, w: qml.RX(x, w[0]),
    lambda x, w: qml.RY(x, w[0]),
    lambda x, w: qml.CNOT([w[0], w[1]]),
    lambda x, w: qml.IsingXX(x, [w[0], w[2]]),
    lambda x, w: qml.SWAP([w[1], w[2]]),
]

wires = st.permutations(range(WIRES))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("gate"), st.integers(0, len(GATES) - 1), st.floats(0, 3), wires),
        st.tuples(st.just("gate"), st.integers(0, len(GATES) - 1), st.floats(0, 3), wires),
        st.tuples(st.just("channel"), st.integers(0, len(CHANNELS) - 1), st.floats(0, 0.9), wires),
        st.tuples(st.just("measure"), st.booleans(), st.floats(0, 3), wires),
    ),
    min_size=3,
    max_size=9,
)


def run(circuit, x=1.0):
    """Apply the steps; a measurement is followed by a gate where the outcome is 1."""
    for kind, which, number, w in circuit:
        if kind == "gate":
            GATES[which](x * number, w)
        elif kind == "channel":
            CHANNELS[which](number, w)
        else:
            outcome = measure(w[0], reset=which)
            cond(outcome)(lambda: qml.RY(number, w[1]))()  # noqa: B023


def density(circuit):
    """The density matrix, by numpy."""

    def by(rho, matrices, at):
        full = [qml.math.expand_matrix(m, at, range(WIRES)) for m in matrices]
        return sum(m @ rho @ np.conj(m).T for m in full)

    rho = np.zeros((8, 8), complex)
    rho[0, 0] = 1
    for kind, which, number, w in circuit:
        if kind == "gate":
            gate = GATES[which](number, w)
            rho = by(rho, [gate.matrix()], gate.wires)
        elif kind == "channel":
            channel = CHANNELS[which](number, w)
            rho = by(rho, channel.kraus_matrices(), channel.wires)
        else:
            zero = by(rho, [np.diag([1, 0])], [w[0]])
            one = by(rho, [np.array([[0, 1], [0, 0]]) if which else np.diag([0, 1])], [w[0]])
            rho = zero + by(one, [qml.RY(number, 0).matrix()], [w[1]])
    return rho


def means(rho):
    z = np.diag([1, -1])
    word = np.kron(np.kron(np.eye(2), [[0, 1], [1, 0]]), z)
    return np.trace(rho @ word).real, np.diag(rho).real


@functools.cache
def program(circuit, number=NUMBER, seed=5, **settings):
    @qml.qnode(DEVICE)
    def node():
        run(circuit)
        return qml.expval(qml.X(1) @ qml.Z(2)), qml.probs()

    return qjit(set_method(node, "trajectories", number, **settings), seed=seed)


def frozen(circuit):
    return tuple((kind, which, number, tuple(w)) for kind, which, number, w in circuit)


def assert_means(found, rho, number):
    """Within 5 sigma: trajectories of an average in [-1, 1] or [0, 1] spread at most so much."""
    mean, probabilities = means(rho)
    assert abs(found[0] - mean) <= 5 * np.sqrt(max(1 - mean**2, 0) / number) + 1e-7
    spread = np.sqrt(np.clip(probabilities * (1 - probabilities), 0, None) / number)
    # Where something is found a few times only, its frequency is no normal distribution.
    assert np.all(np.abs(found[1] - probabilities) <= 5 * spread + 10 / number)


@settings(max_examples=25, deadline=None)
@given(steps)
def test_means_are_those_of_the_density_matrix(circuit):
    circuit = frozen(circuit)
    assert_means(program(circuit)(), density(circuit), NUMBER)


@pytest.mark.sample(16)
@pytest.mark.parametrize("channel", range(len(CHANNELS)))
@pytest.mark.parametrize("device", ["lightning.qubit", "default.qubit", "default.mixed"])
def test_every_channel(channel, device):
    """Against PennyLane's own density matrix; with shots, too."""

    def body(p, sampled=False):
        for wire in range(WIRES):
            qml.RY(0.4 + wire, wire)
            qml.RX(0.8, wire)
        qml.CNOT([0, 1])
        qml.IsingXX(0.6, [1, 2])
        CHANNELS[channel](p, [0, 1, 2])
        qml.RX(0.5, 0)
        return qml.probs() if sampled else qml.density_matrix([0, 2])

    node = qml.QNode(body, qml.device(device, wires=WIRES))
    exact = qml.QNode(body, DEVICE)(0.3)
    found = qjit(set_method(node, "trajectories", 20_000), seed=2)(0.3)
    assert np.allclose(found, exact, atol=5 / np.sqrt(20_000))
    sampled = qml.set_shots(qml.QNode(lambda p: body(p, True), node.device), 20_000)
    found = qjit(sampled, method="trajectories", seed=2)(0.3)
    exact = qml.QNode(lambda p: body(p, True), DEVICE)(0.3)
    assert np.all(np.abs(found - exact) <= 5 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-9)


CIRCUIT = (
    ("gate", 0, 0.9, (0, 1, 2)),
    ("channel", 3, 0.2, (0, 1, 2)),
    ("gate", 2, 0.0, (0, 1, 2)),
    ("measure", True, 0.7, (1, 2, 0)),
    ("channel", 0, 0.4, (0, 1, 2)),
    ("channel", 10, 0.0, (2, 1, 0)),
    ("gate", 3, 0.5, (0, 2, 1)),
)


def test_seeds_are_reproducible_and_threads_do_not_matter(configure):
    results = []
    for threads in (1, 2, 5):
        configure(threads)
        results.append(program(CIRCUIT)())
    assert all(np.array_equal(a[1], results[0][1]) and a[0] == results[0][0] for a in results)
    other = program(CIRCUIT, seed=6)()
    assert not np.array_equal(other[1], results[0][1])


def test_shots_do_not_depend_on_threads(configure):
    @qml.set_shots(3000)
    @qml.qnode(DEVICE)
    def node():
        run(CIRCUIT)
        return qml.sample(), qml.probs()

    compiled = qjit(node, method="trajectories", seed=4)
    results = []
    for threads in (1, 2, 5):
        configure(threads)
        results.append(compiled())
    assert all(np.array_equal(each[0], results[0][0]) for each in results)
    probabilities = means(density(CIRCUIT))[1]
    spread = np.sqrt(probabilities * (1 - probabilities) / 3000)
    assert np.all(np.abs(results[0][1] - probabilities) <= 5 * spread + 1e-9)


def test_the_number_of_chunks_does_not_change_what_is_expected():
    """One trajectory, fewer than a chunk, some chunks, many of them."""
    for number in (1, 63, 65, 1000, 20_001):
        found = program(CIRCUIT, number)()
        assert_means(found, density(CIRCUIT), number)


def test_outcomes_are_those_of_one_trajectory():
    @qml.set_shots(2000)
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        qml.BitFlip(0.2, 0)
        first = measure(0)
        cond(first)(lambda: qml.X(1))()
        qml.AmplitudeDamping(0.3, 1)
        return first, measure(1), qml.counts(), qml.expval(qml.Z(0)), x

    first, second, counts, mean, x = qjit(node, method="trajectories", seed=1)(0.9)
    chance = 0.8 * np.sin(0.45) ** 2 + 0.2 * np.cos(0.45) ** 2
    assert x == 0.9
    assert first.shape == second.shape == (2000,)
    assert not np.any(second & ~first)
    assert abs(np.mean(first) - chance) < 5 * np.sqrt(chance / 2000)
    assert mean == pytest.approx(1 - 2 * np.mean(first))
    assert counts["110"] == np.sum(second)
    assert counts["100"] == np.sum(first & ~second)
    assert abs(np.sum(second) / np.sum(first) - 0.7) < 5 * np.sqrt(0.21 / np.sum(first))


def test_equal_histories_are_run_once():
    @qml.qnode(DEVICE)
    def node(p):
        qml.Hadamard(0)
        qml.BitFlip(p, 0)
        qml.BitFlip(p, 1)
        return qml.probs()

    compiled = qjit(set_method(node, "trajectories", 64), seed=1)
    compiled(0.0)
    assert compiled.report().work.gates == 1
    compiled(0.4)
    assert compiled.report().work.gates <= 4 + 4  # 4 histories, with 0, 1, 1 and 2 flips


def test_averages_of_which_results_are_computed():
    def body(x):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        qml.DepolarizingChannel(0.3, 0)
        return (
            qml.var(qml.Z(0)),
            qml.purity([0]),
            qml.vn_entropy([0, 1]),
            qml.mutual_info([0], [1]),
            qml.expval(qml.Hermitian(np.array([[1, 2j], [-2j, 0]]), 0)),
        )

    found = qjit(set_method(qml.QNode(body, DEVICE), "trajectories", 20_000), seed=3)(0.8)
    exact = qml.QNode(body, DEVICE)(0.8)
    assert np.allclose(found, exact, atol=0.03)


def test_standard_errors():
    """They are what results differ by from run to run; of numbers that do not differ, none."""

    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        qml.BitFlip(0.3, 0)
        qml.AmplitudeDamping(0.2, 0)
        first = measure(1)
        second = measure(0)
        qml.BitFlip(0.2, 1)
        return {
            "z": qml.expval(qml.Z(0)),
            "m": qml.expval(first),
            "p": qml.probs(),
            "x": 2 * x,
            "var": qml.var(qml.Z(0) + 0.5 * qml.Z(1)),
            "purity": qml.purity([0, 1]),
            "var of m": qml.var(second),
        }

    number = 400
    compiled = qjit(set_method(node, "trajectories", number, standard_errors=True))
    runs = [compiled(0.9) for _ in range(200)]
    for name in ("z", "p", "var", "purity", "var of m"):
        spread = np.std([mean[name] for mean, _ in runs], axis=0)
        error = np.mean([error[name] for _, error in runs], axis=0)
        assert np.allclose(spread, error, rtol=0.25, atol=1e-12)
    mean, error = runs[0]
    assert mean["x"] == 1.8
    assert error["x"] == error["m"] == 0
    assert error["p"].shape == (8,)


@pytest.mark.parametrize(
    "process", [lambda: qml.vn_entropy([0]), lambda: qml.mutual_info([0], [1])]
)
def test_entropies_have_no_standard_errors(process):
    @qml.qnode(DEVICE)
    def node():
        qml.BitFlip(0.3, 0)
        return process()

    with pytest.raises(UnsupportedMeasurementError, match="has no standard error"):
        qjit(set_method(node, "trajectories", standard_errors=True))()


def test_a_purity_of_many_wires_has_no_standard_error():
    @qml.qnode(qml.device("default.mixed", wires=4))
    def node(wires):
        qml.BitFlip(0.3, 0)
        return qml.purity(range(wires))

    compiled = qjit(set_method(node, "trajectories", standard_errors=True), static_argnums=0)
    assert compiled(3)[1] > 0
    with pytest.raises(UnsupportedMeasurementError, match="computed of 512 averages"):
        compiled(4)


# --- snapshots -----------------------------------------------------------------------------------


def seen_on_the_way(x):
    qml.RX(x, 0)
    qml.Snapshot(measurement=qml.expval(qml.Z(0)))
    qml.BitFlip(0.3, 0)
    qml.Snapshot(measurement=qml.expval(qml.Z(0)))
    qml.CNOT([0, 1])
    outcome = measure(1)
    cond(outcome)(lambda: qml.RY(1.0, 2))()
    qml.Snapshot(measurement=qml.density_matrix([0, 2]))
    qml.Snapshot(measurement=qml.var(qml.Z(2)))
    qml.Snapshot(measurement=qml.probs(wires=[1, 0]))
    return qml.expval(qml.Z(2))


def exactly_seen(x):
    """The same, of outcomes on wires of their own, without snapshots."""
    one = 0.7 * np.sin(x / 2) ** 2 + 0.3 * np.cos(x / 2) ** 2
    turned = qml.RY(1.0, 0).matrix()[:, 0].real
    rho = np.zeros((4, 4))
    rho[0, 0] = 1 - one
    rho[2:, 2:] = one * np.outer(turned, turned)
    z = 1 - one + one * np.cos(1.0)
    return [np.cos(x), 1 - 2 * one, rho, 1 - z**2, [1 - one, 0, 0, one]], z


@pytest.mark.parametrize("method", ["density", "trajectories"])
def test_snapshots_are_averages_over_outcomes_and_noise(method):
    node = set_method(qml.QNode(seen_on_the_way, DEVICE), method, 20_000)
    snapshots, result = qjit(node, seed=4)(0.7)
    wanted, z = exactly_seen(0.7)
    bound = 5 / np.sqrt(20_000) if method == "trajectories" else 1e-10
    np.testing.assert_allclose(result, z, atol=bound)
    for one, other in zip(snapshots, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=bound)


def test_snapshots_have_standard_errors():
    node = set_method(qml.QNode(seen_on_the_way, DEVICE), "trajectories", standard_errors=True)
    (found, _), (errors, _) = qjit(node, seed=4)(0.7)
    wanted, _ = exactly_seen(0.7)
    assert errors[0] == 0
    for one, other, error in zip(found, wanted, errors, strict=True):
        assert np.all(np.abs(one - np.asarray(other)) <= 5 * error + 1e-12)
    assert np.all(errors[1] > 0.01)


def test_a_state_on_the_way_is_refused():
    @qml.qnode(DEVICE)
    def node():
        qml.Snapshot()
        qml.BitFlip(0.3, 0)
        qml.Snapshot()
        return qml.probs()

    with pytest.raises(UnsupportedMeasurementError, match="state of trajectories is not defined"):
        qjit(set_method(node, "trajectories"))()


@pytest.mark.parametrize("shots", [None, 4000])
@pytest.mark.parametrize("wanted", [0, 1])
def test_postselection_is_conditional(wanted, shots):
    @qml.set_shots(shots)
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        qml.BitFlip(0.2, 0)
        qml.CNOT([0, 1])
        qml.AmplitudeDamping(0.4, 1)
        measure(0, postselect=wanted)
        return qml.probs(wires=1)

    found = qjit(set_method(node, "trajectories", 4000), seed=2)(0.9)
    exact = [0.4, 0.6] if wanted else [1, 0]
    assert np.allclose(found, exact, atol=5 * np.sqrt(0.24 / 700))


def test_a_loop_with_traced_strengths_and_wires():
    @qml.qnode(DEVICE)
    def node(p, n):
        @for_loop(0, n, 1)
        def loop(i):
            qml.BitFlip(p, wires=i)
            qml.PhaseDamping(p / 2, wires=i)

        loop()
        return [qml.expval(qml.Z(wire)) for wire in range(WIRES)]

    found = qjit(set_method(node, "trajectories", 4000), seed=1)(0.2, 2)
    assert np.allclose(found, [0.6, 0.6, 1.0], atol=5 * 0.8 / np.sqrt(4000))


def test_batches():
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        qml.BitFlip(0.1, 0)
        return qml.expval(qml.Z(0))

    x = jnp.linspace(0.0, 1.0, 5)
    averaged = set_method(node, "trajectories", 2000)
    sampled = set_method(qml.set_shots(node, 2000), "trajectories")
    for each in (averaged, sampled):
        found = qjit(lambda x, each=each: jax.vmap(each)(x), seed=1)(x)
        assert np.allclose(found, 0.8 * np.cos(x), atol=5 / np.sqrt(2000))
        assert len(set(np.round(found / np.cos(x), 12).tolist())) == 5
    found = qjit(averaged, seed=1)(x)  # broadcast by PennyLane's rules
    assert np.allclose(found, 0.8 * np.cos(x), atol=5 / np.sqrt(2000))


def test_single_precision():
    found = qjit(program(CIRCUIT).original_function, precision="single", seed=5)()
    assert_means(found, density(CIRCUIT), NUMBER)
    assert found[1].dtype == np.float32


def test_shadows_have_a_trajectory_for_each_shot():
    @qml.set_shots(8000)
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        qml.DepolarizingChannel(0.3, 0)
        return qml.shadow_expval(qml.Z(0))

    found = qjit(node, method="trajectories", seed=1)(0.5)
    assert abs(found - 0.6 * np.cos(0.5)) < 5 * np.sqrt(3 / 8000)


def test_without_noise_results_are_exact_and_have_derivatives():
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    chosen = set_method(node, "trajectories")
    assert qjit(chosen)(0.3) == pytest.approx(np.cos(0.3), abs=1e-14)
    assert qjit(grad(chosen))(0.3) == pytest.approx(-np.sin(0.3), abs=1e-14)


def test_no_derivatives_of_what_is_drawn():
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        qml.BitFlip(0.1, 0)
        return qml.expval(qml.Z(0))

    for each in (node, qml.set_shots(node, 10)):
        with pytest.raises(NoDerivativeError, match="density"):
            qjit(grad(set_method(each, "trajectories")))(0.3)


@pytest.mark.parametrize("p", [1.5, -0.1, np.nan, np.inf])
@pytest.mark.parametrize("shots", [None, 10])
def test_no_channel(p, shots):
    flip = np.array([[0, 1], [1, 0]])

    @qml.set_shots(shots)
    @qml.qnode(DEVICE)
    def by_name(p):
        qml.BitFlip(p, 0)
        return qml.expval(qml.Z(0))

    @qml.set_shots(shots)
    @qml.qnode(DEVICE)
    def by_matrices(p):
        qml.QubitChannel([jnp.sqrt(1 - p) * np.eye(2), 0.1 * p * flip], 0)
        return qml.expval(qml.Z(0))

    for node, error in ((by_name, InvalidValueError), (by_matrices, NotTracePreservingError)):
        compiled = qjit(node, method="trajectories")
        with pytest.raises(error):
            compiled(p)
        assert compiled(0.0) == 1.0


def test_what_is_refused():
    @qml.qnode(DEVICE)
    def node(which, x):
        qml.BitFlip(0.1, 0)
        outcome = measure(0)
        return {
            "state": lambda: qml.state(),
            "outcome": lambda: outcome,
            "impossible": lambda: (measure(1, postselect=1), qml.probs())[1],
        }[which]()

    def compiled(which, node=node, **options):
        return qjit(node, static_argnums=0, method="trajectories", **options)(which, 0.1)

    for which, error in (
        ("state", UnsupportedMeasurementError),
        ("outcome", UnsupportedReturnError),
        ("impossible", InvalidValueError),
    ):
        with pytest.raises(error):
            compiled(which)
    filled = qml.set_shots(node.update(postselect_mode="fill-shots"), 5)
    with pytest.raises(InvalidSettingError, match="hw-like"):
        compiled("impossible", filled)
    for made in (
        set_method(node, "statevector", standard_errors=True),
        set_method(qml.set_shots(node, 5), "trajectories", standard_errors=True),
    ):
        with pytest.raises(InvalidSettingError, match="standard_errors"):
            compiled("outcome", made)


@pytest.mark.parametrize("shots", [None, 4000])
def test_readout_errors(shots):
    """Of the wires that are measured, each of them once; the state has none."""

    @qml.set_shots(shots)
    @qml.qnode(qml.device("default.mixed", wires=2, readout_prob=0.1))
    def node(x):
        qml.RX(x, 0)
        qml.AmplitudeDamping(0.3, 0)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(0)), qml.probs(wires=1), qml.expval(qml.Z(0) @ qml.Z(1))

    found = qjit(set_method(node, "trajectories", 4000), seed=1)(0.9)
    z = 1 - 2 * 0.7 * np.sin(0.45) ** 2
    exact = (0.8 * z, [(1 + 0.8 * z) / 2, (1 - 0.8 * z) / 2], 0.64)
    for one, other in zip(found, exact, strict=True):
        assert np.allclose(one, other, atol=5 / np.sqrt(4000))


def test_long_paths():
    """Many choices, of which most trajectories share the first ones."""

    @qml.qnode(DEVICE)
    def node(p, n):
        @for_loop(0, n, 1)
        def loop(i):
            qml.BitFlip(p, wires=0)
            qml.RX(0.3, wires=1)
            qml.AmplitudeDamping(p, wires=1)

        loop()
        return qml.expval(qml.Z(0)), qml.expval(qml.Z(1))

    found = qjit(set_method(node, "trajectories", 4000), seed=1)(0.01, 120)
    rho, full = np.diag([1.0, 0.0]), qml.RX(0.3, 0).matrix()
    for _ in range(120):
        rho = full @ rho @ full.conj().T
        rho = sum(k @ rho @ k.T for k in qml.AmplitudeDamping(0.01, 0).kraus_matrices())
    assert abs(found[0] - 0.98**120) < 5 / np.sqrt(4000)
    assert abs(found[1] - (rho[0, 0] - rho[1, 1]).real) < 5 / np.sqrt(4000)


def test_shots_that_are_traced_or_divided():
    @qml.qnode(DEVICE)
    def node():
        qml.BitFlip(0.2, 0)
        measure(1)
        return qml.expval(qml.Z(0)), qml.sample(wires=[0])

    @qjit(method="trajectories", seed=1)
    def traced(shots: int):
        return qml.set_shots(node, shots)()

    for shots in (1, 1023, 3000):
        mean, samples = traced(shots)
        assert samples.shape == (shots, 1)
        assert mean == pytest.approx(1 - 2 * np.mean(samples))
    assert abs(mean - 0.6) < 5 / np.sqrt(3000)
    parts = qjit(qml.set_shots(node, (2000, 1000, 3)), method="trajectories", seed=1)()
    assert [samples.shape[0] for _, samples in parts] == [2000, 1000, 3]
    assert all(abs(mean - 0.6) < 5 / np.sqrt(1000) for mean, _ in parts[:2])


@pytest.mark.parametrize("mcm_method", ["one-shot", "deferred", "tree-traversal"])
def test_methods_for_outcomes_are_all_the_same(mcm_method):
    @qml.set_shots(3000)
    @qml.qnode(DEVICE, mcm_method=mcm_method)
    def node():
        qml.BitFlip(0.3, 0)
        outcome = measure(0)
        cond(outcome)(lambda: qml.X(1))()
        return qml.expval(outcome), qml.expval(qml.Z(1)), qml.expval(qml.Z(0) @ qml.Z(1))

    chance, one, both = qjit(node, method="trajectories", seed=1)()
    assert abs(chance - 0.3) < 5 * np.sqrt(0.21 / 3000)
    assert (one, both) == (pytest.approx(1 - 2 * chance), 1)
    single = node.update(mcm_method="single-branch-statistics")
    with pytest.raises(InvalidSettingError, match="outcomes of its own"):
        qjit(single, method="trajectories")()


def test_qnodes_of_a_program_draw_apart():
    @qml.set_shots(500)
    @qml.qnode(DEVICE)
    def node():
        qml.BitFlip(0.5, 0)
        return qml.sample(wires=0)

    @qjit(method="trajectories", seed=1)
    def program():
        return for_loop(0, 3, 1)(lambda i, rows: rows.at[i].set(node()[:, 0]))(
            jnp.zeros((3, 500), jnp.int64)
        ), node()[:, 0]

    rows, last = program()
    agreements = [np.mean(one == other) for one in rows for other in (last, rows[0])]
    assert sum(agreement == 1 for agreement in agreements) == 1  # rows[0] with itself
    assert all(abs(a - 0.5) < 5 * np.sqrt(0.25 / 500) for a in agreements if a != 1)


def test_an_error_leaves_nothing_behind():
    @qml.qnode(DEVICE)
    def node(wire, p):
        qml.BitFlip(0.3, 0)
        qml.AmplitudeDamping(0.3, 1)
        qml.BitFlip(p, wires=wire)
        return qml.probs()

    compiled = qjit(set_method(node, "trajectories", 300), seed=2)
    before = compiled(2, 0.1)
    for _ in range(20):
        with pytest.raises(WireOutOfRangeError):
            compiled(3, 0.1)
    assert np.array_equal(compiled(2, 0.1), before)


def test_passes_specs_and_pictures_see_channels():
    @passes.cancel_inverses
    @passes.merge_rotations
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        qml.Hadamard(1)
        qml.AmplitudeDamping(0.3, 0)
        qml.Hadamard(1)
        qml.RX(x, 0)
        qml.RX(x, 0)
        qml.PauliError("XYZ", 0.2, [0, 1, 2])
        return qml.expval(qml.Z(0))

    compiled = qjit(set_method(node, "trajectories", 4000), seed=1)
    exact = qml.QNode(node.func, DEVICE)(0.4)
    assert abs(compiled(0.4) - exact) < 5 / np.sqrt(4000)
    counted = qml.specs(compiled)(0.4)["resources"].gate_types
    assert counted["RX"] == 2
    assert counted["AmplitudeDamping"] == counted["PauliError"] == 1
    assert "──AmplitudeDamping──RX" in qml.draw(compiled)(0.4)


def test_large_states(configure):
    """In parallel parts, normalised after operators that nobody looked at."""

    @qml.qnode(qml.device("lightning.qubit", wires=15))
    def node(x):
        for wire in range(15):
            qml.RX(x, wire)
            qml.AmplitudeDamping(0.02, wire)
            qml.DepolarizingChannel(0.03, wire)
        return [qml.expval(qml.Z(wire)) for wire in range(15)], qml.probs(wires=[14, 0])

    compiled = qjit(set_method(node, "trajectories", 100), seed=3)
    results = []
    for threads in (1, 2, 5):
        configure(threads)
        results.append(compiled(0.9))
    for means, probabilities in results:
        assert np.array_equal(means, results[0][0])
        assert np.array_equal(probabilities, results[0][1])
    exact = 0.96 * (1 - 2 * 0.98 * np.sin(0.45) ** 2)
    assert abs(np.mean(means) - exact) < 5 / np.sqrt(15 * 100)
    assert np.sum(probabilities) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("word", ["X", "XY", "XYZ"])
def test_an_error_of_a_pauli_word_names_it(word):
    @set_method("trajectories")
    @qml.qnode(qml.device("default.mixed", wires=3))
    def circuit(p):
        qml.PauliError(word, p, wires=range(len(word)))
        return qml.expval(qml.Z(0))

    with pytest.raises(InvalidValueError, match=r"PauliError.*interval"):
        qjit(circuit)(1.5)
