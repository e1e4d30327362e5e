"""Folded circuits: the same effect, so many times the length; with noise, PennyLane's results."""

import re

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from pennylane.noise import exponential_extrapolate, poly_extrapolate, richardson_extrapolate

from diastase import cond, for_loop, grad, measure, mitigate_with_zne, qjit, while_loop
from diastase.capture.context import Folding, changed_settings

ENGINE = qml.device("lightning.qubit", wires=2)
SCALES = [
    ("global", 3), ("global", 7), ("local-all", 3), ("local-all", 5),
    ("local-random", 1.7), ("local-random", 3.6),
]  # fmt: skip


def control_flow(x, n):
    """Loops that carry values, which later gates read; matrices; nested bodies."""
    qml.StatePrep([0.6, 0.0, 0.0, 0.8], wires=[0, 1])

    @for_loop(0, n, 1)
    def loop(i, angle):
        qml.RX(angle * x, 0)
        qml.CNOT([0, 1])
        cond(i > 1)(lambda: (qml.RZ(x, 1), None)[1])()
        return angle + 0.5

    angle = loop(0.1)
    qml.QubitUnitary(qml.matrix(qml.Rot(0.2, 0.3, 0.4, 0)), 0)
    count = while_loop(lambda k: k < n)(lambda k: (qml.PhaseShift(x, 0), k + 2)[1])(0)
    qml.ctrl(qml.RY(angle * count, 1), 0, control_values=[0])
    qml.GlobalPhase(0.3)
    return qml.expval(qml.Z(0) @ qml.X(1)), {"other": qml.expval(qml.Y(0))}


@pytest.mark.sample(2)
@pytest.mark.parametrize(("method", "scale"), SCALES)
@pytest.mark.parametrize("name", ["lightning.qubit", "default.mixed", "reference.qubit"])
def test_folded_circuits_have_the_same_effect(name, method, scale):
    circuit = qml.QNode(control_flow, qml.device(name, wires=2))

    def folded(x, n):
        with changed_settings(folding=Folding(method, scale)):
            return circuit(x, n)

    def both(x, n):
        return circuit(x, n), folded(x, n)

    found, wanted = qjit(both)(0.3, 4)
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-12)
    np.testing.assert_allclose(found[1]["other"], wanted[1]["other"], atol=1e-12)


def flat(x):
    qml.Hadamard(0)
    qml.RX(x, 0)
    qml.CNOT([0, 1])
    qml.RY(x, 1)
    return qml.expval(qml.Z(0) @ qml.X(1))


@pytest.mark.parametrize(
    ("method", "scale", "operations"),
    [("global", 1, 4), ("global", 3, 12), ("global", 5, 20), ("local-all", 3, 12),
     ("local-random", 1.5, 6), ("local-random", 2, 8), ("local-random", 3.5, 14)],
)  # fmt: skip
def test_folded_circuits_are_so_many_times_as_long(method, scale, operations):
    python = qml.device("reference.qubit", wires=2)

    def folded(device):
        circuit = qml.QNode(flat, device)

        def program(x):
            with changed_settings(folding=Folding(method, scale)):
                return circuit(x)

        return program

    text = str(qjit(folded(ENGINE)).trace(0.3).jaxpr)
    assert len(re.findall(r" gate\[", text)) == operations
    with qml.Tracker(python) as tracker:
        qjit(folded(python))(0.3)
    turned = 1  # the device measures X by a gate and Z
    assert tracker.history["resources"][0].num_gates == operations + turned


NOISY = qml.noise.insert(
    qml.device("default.mixed", wires=2), qml.DepolarizingChannel, 0.02, position="all"
)
RULES = [
    (None, {}),
    (richardson_extrapolate, {}),
    (poly_extrapolate, {"order": 1}),
    (exponential_extrapolate, {}),
    (exponential_extrapolate, {"asymptote": 0.1}),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("rule", "keywords"), RULES)
def test_with_noise_as_in_pennylane(rule, keywords):
    circuit, factors = qml.QNode(flat, NOISY), [1, 3, 5]
    wanted = qml.noise.mitigate_with_zne(
        circuit, factors, qml.noise.fold_global, rule or richardson_extrapolate,
        extrapolate_kwargs=keywords,
    )(0.3)  # fmt: skip
    mitigated = mitigate_with_zne(
        circuit, scale_factors=factors, extrapolate=rule, extrapolate_kwargs=keywords
    )
    np.testing.assert_allclose(qjit(mitigated)(0.3), wanted, atol=1e-9)
    assert abs(wanted - circuit(0.3)) > 1e-3


def test_it_mitigates_by_every_folding():
    ideal = qml.QNode(flat, ENGINE)(0.3)
    noisy = qml.QNode(flat, NOISY)
    for folding in ("global", "local-all", "local-random"):
        mitigated = qjit(mitigate_with_zne(noisy, scale_factors=[1, 3, 5], folding=folding))
        assert abs(mitigated(0.3) - ideal) < 0.3 * abs(noisy(0.3) - ideal)


def test_functions_structures_and_derivatives():
    """Of any function of QNodes, decorated or compiled; a user's own extrapolation."""
    circuit = qml.QNode(control_flow, ENGINE)

    def energy(x, n):
        first, others = circuit(x, n)
        return {"energy": 2 * first + others["other"], "both": [first, x * 1.0]}

    def mean(factors, values, shift):
        return jnp.mean(values + 0 * factors) + shift

    def compiled(**options):
        return qjit(mitigate_with_zne(**options)(energy))

    wanted = qjit(energy)(0.3, 4)
    own = {"extrapolate": mean, "extrapolate_kwargs": {"shift": 0.5}}
    for found, shift in (
        (compiled(scale_factors=(1, 3))(0.3, 4), 0.0),
        (mitigate_with_zne(qjit(energy), scale_factors=np.array([1, 3]))(0.3, n=4), 0.0),
        (compiled(scale_factors=[1, 1], **own)(0.3, 4), 0.5),
    ):
        np.testing.assert_allclose(found["energy"], wanted["energy"] + shift, atol=1e-12)
        np.testing.assert_allclose(found["both"], np.add(wanted["both"], shift), atol=1e-12)

    mitigated = mitigate_with_zne(energy, scale_factors=[1, 3])
    derivatives = [qjit(grad(lambda x, f=f: f(x, 4)["energy"]))(0.3) for f in (mitigated, energy)]
    np.testing.assert_allclose(*derivatives, atol=1e-10)


def test_what_measures_in_the_middle_is_folded_locally():
    @qml.qnode(qml.device("lightning.qubit", wires=1), mcm_method="deferred")
    def circuit(x):
        qml.RX(x, 0)
        measure(0)
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    mitigated = qjit(mitigate_with_zne(circuit, scale_factors=[1, 3], folding="local-all"))
    np.testing.assert_allclose(mitigated(0.3), np.cos(0.3) ** 2, atol=1e-12)
