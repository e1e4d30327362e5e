"""`method="automatic"`: what it chooses, that it loses nothing, and how much it traces for that."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diastase
from diastase import for_loop, measure, qjit
from diastase.capture.device_errors import NoExactMethodError, NotCliffordError
from diastase.quantum.clifford import attempts
from sampled import examples


def on(device, wires, shots=None, **options):
    def decorate(function):
        return qml.set_shots(qml.QNode(function, qml.device(device, wires=wires), **options), shots)

    return decorate


def chosen(qnode, *args, method="automatic"):
    (found,) = qjit(qnode, method=method).trace(*args).traced.methods
    return found.method


# --- trajectories, for shots ----------------------------------------------------------------------


def damped(*measured, wires=(), noise=True, mixture=False, middle=False, postselect=None):
    def circuit(x):
        if mixture:
            qml.QubitDensityMatrix(np.eye(2) / 2, wires=0)
        for wire in wires:
            qml.RX(x, wire)
            if noise:
                qml.AmplitudeDamping(0.2, wires=wire)
        if middle:
            measure(0, postselect=postselect)
        return [each() for each in measured]

    return circuit


SAMPLES, AVERAGE = (lambda: qml.sample(wires=[0])), (lambda: qml.expval(qml.Z(0)))


@pytest.mark.parametrize(
    ("wires", "shots", "circuit", "method"),
    [
        (13, 10**6, damped(AVERAGE, wires=[0]), "trajectories"),
        (13, [10, 20], damped(AVERAGE, SAMPLES, wires=[0], middle=True), "trajectories"),
        (13, 10, damped(AVERAGE, noise=False, wires=[0]), "statevector"),
        (10, 512, damped(SAMPLES, wires=[0]), "trajectories"),
        (10, 513, damped(SAMPLES, wires=[0]), "density"),
        (10, 512, damped(AVERAGE, wires=[0]), "density"),  # which has derivatives
        (10, 512, damped(SAMPLES, mixture=True), "density"),
        (10, None, damped(AVERAGE, wires=[0]), "density"),
    ],
)
def test_trajectories_are_chosen_where_they_are_as_exact_and_cheaper(wires, shots, circuit, method):
    assert chosen(on("default.mixed", wires, shots)(circuit), 0.3).name == method


@pytest.mark.parametrize(
    ("options", "circuit"),
    [
        ({}, damped(AVERAGE, mixture=True)),
        ({"mcm_method": "single-branch-statistics"}, damped(AVERAGE, wires=[0], middle=True)),
        (
            {"postselect_mode": "fill-shots"},
            damped(AVERAGE, wires=[0], middle=True, postselect=1),
        ),
    ],
)
def test_what_trajectories_do_not_take_is_refused(options, circuit):
    with pytest.raises(NoExactMethodError, match="too many for a density matrix"):
        chosen(on("default.mixed", 13, 10, **options)(circuit), 0.3)


@pytest.mark.parametrize("device", ["default.mixed", "lightning.qubit"])
def test_the_shots_of_many_wires_have_the_distribution_of_the_density_matrix(device):
    """Independent wires, so that each is what a density matrix of one wire gives."""
    wires, shots = 13, 20000
    circuit = damped(lambda: qml.sample(), wires=range(wires))
    compiled = qjit(on(device, wires, shots)(circuit), method="automatic", seed=5)
    (bits,) = compiled(0.9)
    (found,) = compiled.report().methods
    assert found.method.name == "trajectories"
    assert "as exact as those of a density matrix" in found.method.why
    ones = 0.8 * np.sin(0.45) ** 2
    sigma = np.sqrt(ones * (1 - ones) / shots)
    assert bits.shape == (shots, wires)
    np.testing.assert_array_less(np.abs(np.mean(bits, axis=0) - ones), 5 * sigma)


def test_averages_of_shots_that_may_be_differentiated_have_derivatives():
    circuit = on("default.mixed", 8, 100)(lambda x: damped(AVERAGE, wires=[0])(x)[0])
    slope = qjit(diastase.grad(circuit), method="automatic", seed=1)(0.7)
    assert abs(slope + 0.8 * np.sin(0.7)) < 0.5


def test_a_mixed_state_is_prepared():
    circuit = damped(AVERAGE, wires=[0], mixture=True)
    qnode = on("default.mixed", 2)(circuit)
    np.testing.assert_allclose(qjit(qnode, method="automatic")(0.3), qnode(0.3), atol=1e-10)


# --- one attempt ----------------------------------------------------------------------------------


@pytest.fixture
def recorded(monkeypatch):
    """How many operators are recorded for stabilizers."""
    counts = [0]
    original = attempts.Noise.record

    def counting(*args):
        counts[0] += 1
        return original(*args)

    monkeypatch.setattr(attempts.Noise, "record", counting)
    return counts


def lines(first):
    def circuit(x):
        first(x)
        for _ in range(20):
            qml.Hadamard(0)
            qml.CNOT([0, 1])
        qml.BitFlip(0.1, wires=0)
        return qml.expval(qml.Z(0))

    return circuit


@pytest.mark.parametrize(
    ("first", "count"),
    [
        (lambda x: qml.RX(2 * x, 0), 1),
        (lambda x: qml.T(0), 1),
        (lambda x: qml.AmplitudeDamping(x, wires=0), 1),
        (lambda x: qml.QubitUnitary(qml.RX.compute_matrix(0.3), 0), 1),
        (lambda x: qml.RX(jnp.sin(0.5), 0), 42),  # known to the reader alone
        (lambda x: qml.S(0), 42),
    ],
)
@pytest.mark.parametrize("device", ["default.mixed", "default.qubit"])
@pytest.mark.parametrize("shots", [None, 10])
def test_nothing_is_recorded_once_more_after_what_is_not_clifford(
    recorded, first, count, device, shots
):
    method = chosen(on(device, 2, shots)(lines(first)), 0.3)
    assert recorded == [count]
    assert method.name == ("clifford" if first.__code__.co_names[-1] == "S" else "density")


# Statements of a circuit, of which some are no Clifford operations, or are but never happen.
STATEMENTS = (
    lambda x, c: qml.Hadamard(0),
    lambda x, c: qml.CNOT([0, 1]),
    lambda x, c: qml.RX(c, 1),
    lambda x, c: qml.RX(0 * x, 1),
    lambda x, c: qml.RZ(2 * jnp.asarray(c), 1),
    lambda x, c: qml.T(0),
    lambda x, c: qml.adjoint(qml.S)(0),
    lambda x, c: qml.pow(qml.T(1), 2),
    lambda x, c: qml.adjoint(lambda: qml.RY(x, 0))(),
    lambda x, c: qml.BitFlip(x, wires=0),
    lambda x, c: qml.AmplitudeDamping(0.1, wires=0),
    lambda x, c: qml.cond(measure(0), qml.X)(1),
    lambda x, c: qml.cond(measure(0), qml.Hadamard)(1),
    lambda x, c: qml.cond(jnp.asarray(c) > 10, qml.RX)(x, wires=1),
    lambda x, c: for_loop(0, 0, 1)(lambda k: qml.RX(x, 0) and None)(),
    lambda x, c: for_loop(0, 2, 1)(lambda k: qml.RX(np.pi * k, 0) and None)(),
    lambda x, c: for_loop(0, 2, 1)(lambda k: qml.RX(x, 0) and None)(),
    lambda x, c: qml.ctrl(qml.S, control=0)(1),
    lambda x, c: qml.QubitUnitary(jnp.eye(2) * jnp.exp(1j * x), 0),
)


@given(
    numbers=st.lists(st.integers(0, len(STATEMENTS) - 1), max_size=4),
    quarters=st.sampled_from([0.0, np.pi / 2, 1.0]),
    device=st.sampled_from(["default.mixed", "default.qubit"]),
    shots=st.sampled_from([None, 5]),
)
@settings(max_examples=examples(120), deadline=None)
def test_stabilizers_are_chosen_exactly_where_they_take_the_circuit(
    numbers, quarters, device, shots
):
    def circuit(x):
        for number in numbers:
            STATEMENTS[number](x, quarters)
        return qml.expval(qml.Z(0))

    qnode = on(device, 2, shots, mcm_method=None if shots else "deferred")(circuit)
    found = chosen(qnode, 0.3)
    try:
        chosen(qnode, 0.3, method="clifford")
    except NotCliffordError:
        assert found.name in ("density", "statevector")
        assert "and not clifford, as" in found.why
    else:
        assert found.name == "clifford"
