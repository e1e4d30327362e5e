"""Measurements in the middle of circuits on density matrices: averages, or shots."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, measure, pauli_measure, qjit, while_loop

mixed = qml.device("default.mixed", wires=3)


def gates(x):
    qml.RX(x, 0)
    qml.CNOT([0, 1])
    qml.RY(x, 2)
    qml.AmplitudeDamping(0.2, 1)
    qml.CRX(0.9, [2, 0])


def measured_once(text: str) -> bool:
    return "measure[" in text or "next_run" in text


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("word", ["Z", "Y", "YZ", "ZXY"])
def test_unread_outcomes_are_channels(word, reset):
    """One run, and what the average over both outcomes is."""
    if reset and word != "Z":
        pytest.skip("only one wire in Z is reset")

    @qml.qnode(mixed)
    def circuit(x):
        gates(x)
        if word == "Z":
            measure(1, reset=reset)
        else:
            pauli_measure(word, range(len(word)))
        qml.CRY(0.3, [1, 2])
        return qml.state(), qml.expval(qml.X(2))

    @qml.qnode(mixed)
    def channel(x):
        gates(x)
        if reset:
            qml.ResetError(1.0, 0.0, 1)
        elif word == "Z":
            qml.PhaseFlip(0.5, 1)
        else:
            qml.PauliError(word, 0.5, range(len(word)))
        qml.CRY(0.3, [1, 2])
        return qml.state(), qml.expval(qml.X(2))

    compiled = qjit(circuit)
    for found, wanted in zip(compiled(0.7), channel(0.7), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-7)  # PennyLane has roots of 1e-14
    assert not measured_once(str(compiled.jaxpr))


def test_unread_in_control_flow():
    @qml.qnode(mixed)
    def circuit(x, n):
        gates(x)

        @for_loop(0, n, 1)
        def loop(i, found, angle):
            qml.RX(angle, i)
            found = measure(i, reset=True)  # carried, and read by nobody
            qml.cond(angle > 0.5, lambda: [measure((i + 1) % 3), None][1])()
            return found, angle + 0.3

        loop(False, x)
        return qml.state()

    @qml.qnode(mixed)
    def unrolled(x, n):
        gates(x)
        for i in range(n):
            qml.RX(x, i)
            qml.ResetError(1.0, 0.0, i)
            if x > 0.5:
                qml.PhaseFlip(0.5, (i + 1) % 3)
            x = x + 0.3
        return qml.state()

    compiled = qjit(lambda x, n: circuit(x, n))
    np.testing.assert_allclose(compiled(0.4, 3), unrolled(0.4, 3), atol=1e-6)
    assert not measured_once(str(compiled.jaxpr))


def test_outcomes_that_are_read(same_uncompiled):
    @qml.qnode(mixed)
    def circuit(x):
        gates(x)
        first = measure(0)
        qml.cond(first, lambda: qml.RX(x, 1))()
        second = measure(1, reset=True)
        qml.cond(first & ~second, lambda: qml.RY(0.4, 2))()
        measure(2)
        return qml.expval(first), qml.probs(op=[first, second]), qml.probs(), qml.var(qml.Z(2))

    @qml.qnode(qml.device("default.mixed", wires=5))
    def deferred(x):
        gates(x)
        first = qml.measure(0)
        qml.cond(first, qml.RX)(x, 1)
        second = qml.measure(1, reset=True)
        qml.cond(first & ~second, qml.RY)(0.4, 2)
        qml.PhaseFlip(0.5, 2)
        return (
            qml.expval(first), qml.probs(op=[first, second]), qml.probs(wires=range(3)),
            qml.var(qml.Z(2)),
        )  # fmt: skip

    same_uncompiled(circuit, 0.8, wanted=deferred, tolerance=1e-7)


def test_state_of_a_postselected_circuit():
    @qml.qnode(mixed)
    def circuit(x):
        gates(x)
        measure(0, postselect=1)
        return qml.state(), qml.purity([1, 2])

    state, purity = qjit(circuit)(0.8)

    @qml.qnode(mixed)
    def before(x):
        gates(x)
        return qml.state()

    rho = before(0.8)
    rho[:4] = 0
    rho[:, :4] = 0
    rho /= np.trace(rho)
    np.testing.assert_allclose(state, rho, atol=1e-12)
    part = np.einsum("aiaj->ij", rho.reshape(2, 4, 2, 4))
    assert purity == pytest.approx(np.trace(part @ part).real)


@pytest.mark.parametrize("method", ["deferred", "tree-traversal", "one-shot"])
def test_methods(method):
    shots = 4000 if method == "one-shot" else None

    @qml.set_shots(shots)
    @qml.qnode(mixed, mcm_method=method)
    def circuit(x):
        gates(x)
        found = measure(0)
        qml.cond(found, lambda: qml.X(2))()
        return qml.expval(qml.Z(2)), qml.expval(found)

    @qml.qnode(mixed)
    def wanted(x):
        gates(x)
        qml.PhaseFlip(0.5, 0)
        qml.CNOT([0, 2])
        return qml.expval(qml.Z(2)), qml.expval(qml.Z(0))

    z, one = qjit(circuit, seed=3)(0.8)
    other = wanted(0.8)
    bound = 1e-7 if shots is None else 5 / np.sqrt(shots)
    assert abs(z - other[0]) < bound
    assert abs(1 - 2 * one - other[1]) < 2 * bound


def test_one_branch():
    """Asked for, an outcome is drawn, though nobody reads it."""

    @qml.qnode(mixed, mcm_method="single-branch-statistics")
    def circuit():
        qml.H(0)
        measure(0)
        return qml.expval(qml.Z(0))

    compiled = qjit(circuit)
    assert {round(float(compiled())) for _ in range(30)} == {1, -1}


def test_shots_of_unread_outcomes():
    @qml.set_shots(4000)
    @qml.qnode(mixed)
    def circuit(x):
        gates(x)
        measure(0)
        measure(1, reset=True)
        return qml.expval(qml.Z(0)), qml.sample(wires=[1]), qml.counts(wires=[0])

    compiled = qjit(circuit, seed=5)
    z, ones, counts = compiled(0.8)
    assert not measured_once(str(compiled.jaxpr))

    @qml.qnode(mixed)
    def exact(x):
        gates(x)
        return qml.expval(qml.Z(0))

    assert abs(z - exact(0.8)) < 5 / np.sqrt(4000)
    assert not np.any(ones)
    assert sum(counts.values()) == 4000


def test_until_it_is_found():
    """A loop whose end depends on outcomes: averages of all that may happen."""

    @qml.qnode(mixed)
    def circuit(x):
        qml.RY(x, 0)
        qml.BitFlip(0.1, 0)

        @while_loop(lambda found, n: ~found & (n < 3))
        def tries(found, n):
            qml.RY(x, 0)
            return measure(0, reset=True), n + 1

        tries(jnp.asarray(False), 0)
        return qml.expval(qml.Z(0)), qml.probs(wires=[0])

    z, probabilities = qjit(circuit)(0.7)
    assert z == pytest.approx(1.0)
    np.testing.assert_allclose(probabilities, [1, 0], atol=1e-12)
