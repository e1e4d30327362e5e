"""Clifford circuits by stabilizers: results, feedback, classical code, choices, refusals."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
import stim

import diastase
from diastase import for_loop, measure, qjit, set_method, while_loop
from diastase.capture.device_errors import NoExactMethodError, NotCliffordError
from diastase.capture.noise_errors import ChannelError
from diastase.primitives.errors import NoDerivativeError
from diastase_runtime.errors import InvalidValueError
from memory_experiments import EXPERIMENTS

SHOTS = 4000


def on(device, *, wires=3, shots=None, **settings):
    def decorate(function):
        qnode = qml.QNode(function, qml.device(device, wires=wires), **settings)
        return qnode if shots is None else qml.set_shots(qnode, shots)

    return decorate


def by_stabilizers(device="default.qubit", **settings):
    seed = settings.pop("seed", 3)
    return lambda function: qjit(on(device, **settings)(function), method="clifford", seed=seed)


def methods(compiled):
    return [each.method for each in compiled.report().methods]


def within_5_sigma(found, wanted, shots=SHOTS):
    wanted = np.asarray(wanted)
    sigma = np.sqrt(np.clip(wanted * (1 - wanted), 0, 1) / shots)
    np.testing.assert_array_less(np.abs(np.asarray(found) - wanted), 5 * sigma + 1e-9)


def noisy(p):
    qml.Hadamard(0)
    qml.CNOT([0, 1])
    qml.DepolarizingChannel(p, wires=0)
    qml.RY(np.pi / 2, wires=2)
    qml.ISWAP([1, 2])
    qml.PhaseFlip(0.1, wires=1)
    qml.BitFlip(p / 2, wires=2)
    qml.CZ([0, 1])


# --- against PennyLane ----------------------------------------------------------------------------


EXACT = [
    lambda: qml.expval(qml.X(0) @ qml.Y(1) @ qml.X(2)),
    lambda: qml.expval(
        qml.Hamiltonian([0.5, -2.0, 0.3], [qml.Z(0), qml.X(0) @ qml.X(1), qml.Z(2)])
    ),
    lambda: qml.var(qml.Z(0) @ qml.Z(1) + 2 * qml.X(2) - qml.Y(2)),
    lambda: qml.probs(wires=[2, 0]),
    lambda: qml.probs(),
]


@pytest.mark.parametrize("device", ["default.qubit", "lightning.qubit", "default.mixed"])
def test_exact_results_are_those_of_density_matrices(device):
    def circuit(p):
        noisy(p)
        return [measured() for measured in EXACT]

    compiled = by_stabilizers(device)(circuit)
    for found, wanted in zip(compiled(0.2), on("default.mixed")(circuit)(0.2), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-10)
    assert [method.name for method in methods(compiled)] == ["clifford"]


def test_default_clifford_runs_by_stabilizers_with_pennylanes_results():
    def circuit():
        noisy(0.2)
        return [measured() for measured in EXACT[:2]], qml.probs(wires=[2, 0])

    qnode = on("default.clifford")(circuit)
    compiled = qjit(qnode)
    exact = on("default.mixed")(circuit)()
    for found, wanted in zip(jax.tree.leaves(compiled()), jax.tree.leaves(exact), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-10)
    assert methods(compiled)[0].name == "clifford"

    @qjit
    @on("default.clifford")
    def noiseless(n):
        qml.Hadamard(0)
        for_loop(0, 2, 1)(lambda i: qml.CNOT([i, i + 1]) and None)()
        qml.S(1)
        return qml.expval(qml.X(0) @ qml.Y(1) @ qml.X(2)), qml.probs(wires=[0, 1])

    found = noiseless(1)
    np.testing.assert_allclose(found[0], 1)
    np.testing.assert_allclose(found[1], [0.5, 0, 0, 0.5])


def test_what_only_the_device_has_runs_on_the_device():
    @on("default.clifford", wires=2)
    def circuit():
        qml.Hadamard(0)
        return qml.state(), qml.expval(qml.Hermitian(np.array([[1, 2], [2, 1]]), 0))

    compiled = qjit(circuit)
    for found, wanted in zip(compiled(), circuit(), strict=True):
        np.testing.assert_allclose(found, wanted)
    (method,) = methods(compiled)
    assert method.name == "device"
    assert "state" in method.why


def test_shots_have_the_means_and_the_forms_of_other_methods():
    def circuit(p):
        noisy(p)
        return (
            qml.expval(qml.X(0) @ qml.Y(1)),
            qml.expval(qml.Z(0) - 2 * qml.Z(0) @ qml.Z(2)),
            qml.probs(wires=[2, 0]),
            qml.var(qml.Z(1)),
            qml.sample(wires=[0, 1]),
            qml.counts(wires=[0, 1]),
            qml.sample(qml.Y(2)),
        )

    compiled = by_stabilizers(shots=SHOTS)(circuit)
    found = compiled(0.2)
    wanted = qjit(on("default.mixed", shots=SHOTS)(circuit))(0.2)
    assert jax.tree.structure(found[:5]) == jax.tree.structure(wanted[:5])
    for one, other in zip(found[:5], wanted[:5], strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
    assert set(found[5]) == set(wanted[5])
    assert sum(found[5].values()) == SHOTS
    exact = on("default.mixed")(
        lambda p: [noisy(p), qml.expval(qml.X(0) @ qml.Y(1)), qml.probs(wires=[2, 0])][1:]
    )(0.2)
    within_5_sigma((1 + found[0]) / 2, (1 + exact[0]) / 2)
    within_5_sigma(found[2], exact[1])
    bits = np.asarray(found[4])
    assert {k: int((bits == [int(b) for b in k]).all(1).sum()) for k in found[5]} == found[5]


def test_registers_are_larger_than_states():
    def circuit():
        qml.Hadamard(0)
        for_loop(0, 99, 1)(lambda i: qml.CNOT([i, i + 1]) and None)()
        return qml.expval(qml.Z(0) @ qml.Z(99))

    assert by_stabilizers(wires=100)(circuit)() == 1
    assert by_stabilizers(wires=100, shots=10)(circuit)() == 1

    @by_stabilizers(wires=100, shots=10)
    def sampled():
        qml.X(99)
        return qml.sample(wires=range(38, 100)), jnp.stack([measure(wire) for wire in range(100)])

    samples, outcomes = sampled()
    np.testing.assert_array_equal(samples, np.tile([0] * 61 + [1], (10, 1)))
    np.testing.assert_array_equal(outcomes, np.tile([False] * 99 + [True], (10, 1)))
    with pytest.raises(NotCliffordError, match="has 100 wires, more than 62"):
        by_stabilizers(wires=100, shots=10)(lambda: qml.sample())()


# --- outcomes -----------------------------------------------------------------------------------


def test_teleportation_with_feedback_and_a_parity_of_outcomes():
    @by_stabilizers(shots=SHOTS)
    def circuit():
        qml.SX(0)
        qml.S(0)
        qml.Hadamard(1)
        qml.CNOT([1, 2])
        qml.CNOT([0, 1])
        qml.Hadamard(0)
        z, x = measure(0), measure(1)
        qml.cond(x, qml.X)(2)
        qml.cond(z, qml.Z)(2)
        qml.cond(x ^ z, qml.X, qml.Z)(0)
        return qml.expval(qml.X(2)), qml.sample([z, x]), z ^ x, qml.probs(wires=0)

    mean, samples, parity, last = circuit()
    assert mean == pytest.approx(1)
    np.testing.assert_array_equal(samples[:, 0] ^ samples[:, 1], parity)
    # Where the parity is odd X turns what was measured, z, round; else Z leaves it.
    wanted = np.where(parity, 1 - samples[:, 0], samples[:, 0])
    assert last[1] == pytest.approx(wanted.mean())
    within_5_sigma(samples.mean(0), [0.5, 0.5])


def test_classical_code_on_outcomes_is_that_of_each_shot():
    @by_stabilizers(shots=200)
    def circuit(scale):
        for wire in range(3):
            qml.Hadamard(wire)
        bits = jnp.zeros(3, jnp.int64)

        @for_loop(0, 3, 1)
        def each(wire, bits):
            return bits.at[wire].set(measure(wire))

        bits = each(bits)

        @while_loop(lambda left, total: left > 0)
        def shift(left, total):
            return left >> 1, total + left

        number = bits @ (1 << jnp.arange(3))
        both = (bits[0] == 1) & (bits[1] == 1)
        majority = jnp.where(bits.sum() > 1, scale, -scale)
        filled = bits.at[jnp.array([5])].get(mode="fill", fill_value=1)
        return bits, both, majority, shift(number, 0)[1], 1 - bits[2], bits[::-1], filled, scale

    bits, both, majority, total, rest, turned, filled, scale = map(np.asarray, circuit(2.5))
    np.testing.assert_array_equal(both, bits[:, 0] & bits[:, 1])
    np.testing.assert_array_equal(majority, np.where(bits.sum(1) > 1, 2.5, -2.5))
    number = bits @ [1, 2, 4]
    np.testing.assert_array_equal(total, number + number // 2 + number // 4)
    np.testing.assert_array_equal(rest, 1 - bits[:, 2])
    np.testing.assert_array_equal(turned, bits[:, ::-1])
    np.testing.assert_array_equal(filled, np.ones((200, 1)))
    assert scale == 2.5
    assert len(np.unique(number)) == 8


def test_measured_pauli_words():
    @by_stabilizers(shots=100)
    def circuit():
        first = qml.pauli_measure("XX", wires=[0, 1])
        second = qml.pauli_measure("ZZ", wires=[0, 1])
        again = qml.pauli_measure("YY", wires=[0, 1])
        return qml.sample([first, second, again])

    first, second, again = np.asarray(circuit()).T
    assert not second.any()
    np.testing.assert_array_equal(again, 1 - first)  # YY = -XX ZZ
    assert 0 < first.sum() < 100


def test_postselected_shots_are_left_out():
    @by_stabilizers(shots=SHOTS)
    def circuit():
        qml.Hadamard(0)
        qml.CNOT([0, 1])
        qml.BitFlip(0.25, wires=1)
        outcome = measure(0, postselect=1)
        return qml.sample(wires=1), outcome

    samples, outcomes = circuit()
    assert len(samples) == len(outcomes)
    assert outcomes.all()
    within_5_sigma(len(samples) / SHOTS, 0.5)
    within_5_sigma(samples.mean(), 0.75, len(samples))


def test_averages_over_outcomes_are_exact():
    def circuit(p):
        qml.Hadamard(0)
        qml.DepolarizingChannel(p, wires=0)
        first = measure(0)
        qml.cond(first, qml.X)(1)
        qml.BitFlip(p, wires=1)
        second = measure(1, reset=True)
        qml.cond(first ^ second, qml.Y)(2)
        product = qml.expval(1.0 * (first & second))
        return product, qml.expval(qml.Z(2)), qml.probs(op=[first, second]), qml.var(second)

    found = by_stabilizers(mcm_method="deferred")(circuit)(0.3)
    wanted = qjit(on("default.qubit", mcm_method="deferred")(without_noise), seed=1)(0.0)
    same = by_stabilizers(mcm_method="deferred")(circuit)(0.0)
    for one, other in zip(same, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    np.testing.assert_allclose(found[0], 0.35)
    np.testing.assert_allclose(found[1], 0.4)
    np.testing.assert_allclose(found[2], [0.35, 0.15, 0.15, 0.35])
    np.testing.assert_allclose(found[3], 0.25)


def without_noise(_):
    qml.Hadamard(0)
    first = measure(0)
    qml.cond(first, qml.X)(1)
    second = measure(1, reset=True)
    qml.cond(first ^ second, qml.Y)(2)
    product = qml.expval(1.0 * (first & second))
    return product, qml.expval(qml.Z(2)), qml.probs(op=[first, second]), qml.var(second)


# --- calls ----------------------------------------------------------------------------------------


def test_seeds_reproduce_shots_and_calls_without_one_differ():
    def circuit():
        qml.Hadamard(0)
        return qml.sample(wires=0)

    one, again, other = (by_stabilizers(shots=100, seed=seed)(circuit) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one(), again())
    np.testing.assert_array_equal(one(), one())
    assert not np.array_equal(one(), other())
    free = by_stabilizers(shots=100, seed=None)(circuit)
    assert not np.array_equal(free(), free())
    twice = qjit(
        lambda: [on("default.qubit", shots=100)(circuit)() for _ in range(2)],
        method="clifford",
        seed=1,
    )
    assert not np.array_equal(*twice())


def flipped(p):
    qml.BitFlip(p, wires=0)
    return qml.expval(qml.Z(0))


def test_probabilities_are_traced_mapped_and_differentiated():
    strengths = jnp.array([0.0, 0.25, 1.0])
    exact = qjit(jax.vmap(on("default.qubit")(flipped)), method="clifford")(strengths)
    np.testing.assert_allclose(exact, 1 - 2 * strengths)
    many = qjit(jax.vmap(on("default.qubit", shots=SHOTS)(flipped)), method="clifford", seed=1)
    within_5_sigma((1 - many(strengths)) / 2, strengths)
    gradient = qjit(diastase.grad(on("default.qubit")(flipped)), method="clifford")
    assert gradient(0.2) == pytest.approx(-2)
    with pytest.raises(NoDerivativeError, match="drawn by stabilizers"):
        qjit(diastase.grad(on("default.qubit", shots=10)(flipped)), method="clifford")(0.2)


@pytest.mark.parametrize("shots", [None, 10])
@pytest.mark.parametrize("p", [-0.1, 1.5, np.nan])
def test_bad_probabilities_are_refused(shots, p):
    with pytest.raises(InvalidValueError, match="p must be in the interval"):
        by_stabilizers(shots=shots)(flipped)(p)
    with pytest.raises(ChannelError, match="p must be in the interval"):
        by_stabilizers(shots=shots)(lambda: flipped(p))()


def test_shots_that_are_traced_or_in_parts():
    def circuit():
        qml.BitFlip(0.5, wires=0)
        return qml.sample(wires=[0, 1])

    parts = by_stabilizers(shots=[3, 5])(circuit)()
    assert [part.shape for part in parts] == [(3, 2), (5, 2)]
    of_any = qjit(lambda n: qml.set_shots(on("default.qubit")(circuit), n)(), method="clifford")
    assert of_any(7).shape == (7, 2)
    assert of_any(9).shape == (9, 2)


# --- which method ---------------------------------------------------------------------------------


def turned(x):
    qml.RX(x, wires=0)
    return qml.expval(qml.Z(0))


def damped(x):
    qml.AmplitudeDamping(x, wires=0)
    return qml.expval(qml.Z(0))


def returned_state(_):
    return qml.state()


@pytest.mark.parametrize(
    ("device", "wires", "function", "method", "reason"),
    [
        ("lightning.qubit", 2, flipped, "clifford", "the circuit is Clifford"),
        ("default.mixed", 2, flipped, "clifford", "the circuit is Clifford"),
        ("default.qubit", 2, turned, "statevector", "RX has a traced angle"),
        ("default.qubit", 2, returned_state, "statevector", "state is a property"),
        ("default.mixed", 2, turned, "density", "RX has a traced angle"),
        ("default.mixed", 2, damped, "density", "is no mixture of Pauli operators"),
        ("default.mixed", 2, returned_state, "density", "state is a property"),
        ("default.mixed", 13, turned, "statevector", "RX has a traced angle"),
    ],
)
def test_automatic_takes_the_exact_method_that_fits(device, wires, function, method, reason):
    compiled = qjit(on(device, wires=wires)(function), method="automatic")
    found = compiled(0.3)
    (chosen,) = methods(compiled)
    assert chosen.name == method
    assert 'method= of qjit: "automatic"' in chosen.why
    assert reason in chosen.why
    smaller = on(
        "default.mixed" if "mixed" in device or function is not returned_state else device, wires=2
    )
    np.testing.assert_allclose(found, smaller(function)(0.3), atol=1e-10)


def test_automatic_never_estimates():
    with pytest.raises(NoExactMethodError, match='method="trajectories"'):
        qjit(on("default.mixed", wires=13)(damped), method="automatic")(0.3)


def test_qnodes_choose_for_themselves():
    by_own = set_method(on("default.qubit")(flipped), "clifford")
    compiled = qjit(lambda p: (by_own(p), on("default.qubit")(turned)(p)))
    np.testing.assert_allclose(compiled(0.3), (0.4, np.cos(0.3)))
    assert [method.name for method in methods(compiled)] == ["clifford", "statevector"]


NEARLY = np.pi / 2 + 1e-8


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda x: qml.T(0), "T is no Clifford gate"),
        (lambda x: qml.RX(NEARLY, 0), "RX.1.5708. is no Clifford gate"),
        (lambda x: qml.ctrl(qml.X(0), [1, 2]), "with 2 controls is no Clifford gate"),
        (lambda x: qml.QubitUnitary(np.diag([1, np.exp(1e-8j)]), 0), "is a matrix, and no"),
        (lambda x: qml.cond(measure(0), qml.Hadamard)(1), "depends on an outcome"),
        (lambda x: qml.cond(x > 0, qml.X)(1), "decided by a traced value"),
        (lambda x: qml.cond(measure(0) & measure(1), qml.X)(2), "no parity of outcomes"),
        (lambda x: qml.ResetError(0.1, 0.2, wires=0), "no mixture of Pauli operators"),
        (lambda x: for_loop(0, jnp.int64(x), 1)(lambda i: qml.X(0) and None)(), "traced bounds"),
        (lambda x: qml.cond(measure(0), qml.BitFlip)(0.1, wires=1), "depends on an outcome"),
    ],
)
def test_other_circuits_are_refused(function, match):
    @by_stabilizers(shots=10)
    def circuit(x):
        function(x)
        return qml.sample(wires=0)

    with pytest.raises(NotCliffordError, match=match) as refusal:
        circuit(1.0)
    assert refusal.value.span is not None


def test_without_stim_another_method_is_taken_and_clifford_says_what_to_install():
    program = """
import sys
sys.modules["stim"] = None
import pennylane as qml
from diastase import qjit
from diastase.capture.device_errors import StimMissingError

@qml.qnode(qml.device("default.qubit", wires=1))
def circuit():
    qml.Hadamard(0)
    return qml.expval(qml.X(0))

automatic = qjit(circuit, method="automatic")
assert abs(automatic() - 1) < 1e-10
(found,) = automatic.report().methods
assert found.method.name == "statevector", found
assert "stim is not installed" in found.method.why, found
try:
    qjit(circuit, method="clifford")()
except StimMissingError as error:
    assert "pip install diastase[clifford]" in str(error)
else:
    raise AssertionError("not refused")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# --- memory experiments ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_memory_experiments_are_stims(name):
    make, by_hand, distance, rounds = EXPERIMENTS[name]
    compiled = qjit(qml.set_shots(make(distance, rounds), SHOTS), method="clifford", seed=1)
    found = np.asarray(compiled(0.02))
    wanted = by_hand(distance, rounds, 0.02).compile_sampler(seed=2).sample(20 * SHOTS)
    assert found.shape == (SHOTS, wanted.shape[1])
    assert found.dtype == bool
    signs, others = 1.0 - 2 * found, 1.0 - 2 * wanted
    bound = 5.5 / np.sqrt(SHOTS)
    assert np.abs(signs.mean(0) - others.mean(0)).max() < bound
    assert np.abs(signs.T @ signs / SHOTS - others.T @ others / len(others)).max() < bound
    noiseless = stim.Circuit(str(by_hand(distance, rounds, 0.0))).compile_sampler().sample(SHOTS)
    clean = np.asarray(compiled(0.0))
    steady = noiseless.all(0) | ~noiseless.any(0)
    np.testing.assert_array_equal(clean[:, steady], noiseless[:, steady])


def test_shots_of_several_calls_of_stim(monkeypatch):
    """Which Ctrl-C is heard between."""
    monkeypatch.setattr("diastase.quantum.clifford.sampling._BITS_AT_ONCE", 256)

    @set_method("clifford")
    @qml.set_shots(1001)
    @qml.qnode(qml.device("default.mixed", wires=2))
    def circuit(strength):
        qml.BitFlip(strength, wires=0)
        qml.CNOT([0, 1])
        return qml.sample(measure(0)), qml.sample(wires=[0, 1])

    outcome, found = qjit(circuit, seed=3)(0.5)
    assert (outcome.shape, found.shape) == ((1001,), (1001, 2))
    np.testing.assert_array_equal(found, np.stack([outcome, outcome], 1))
    assert abs(np.mean(outcome) - 0.5) < 0.1
    assert np.any(outcome[:100] != outcome[128:228])
