"""Whole programs on density matrices: random circuits of gates, channels, measurements, loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import unitary_group
from tests.sampled import examples

from diastase import for_loop, measure, qjit, while_loop

WIRES = 4
mixed = qml.device("default.mixed", wires=WIRES)

# Each entry makes one operation of a number x (traced in some programs) and distinct wires.
_GATES = {
    "rx": (1, lambda x, w: qml.RX(x, w)),
    "rot": (1, lambda x, w: qml.Rot(x, 0.3, 2 * x, w)),
    "h": (1, lambda x, w: qml.H(w)),
    "t": (1, lambda x, w: qml.adjoint(qml.T(w))),
    "phase": (1, lambda x, w: qml.PhaseShift(x, w)),
    "cnot": (2, lambda x, w: qml.CNOT(w)),
    "crx": (2, lambda x, w: qml.CRX(x, w)),
    "xx": (2, lambda x, w: qml.IsingXX(x, w)),
    "iswap": (2, lambda x, w: qml.ISWAP(w)),
    "excitation": (2, lambda x, w: qml.SingleExcitation(x, w)),
    "toffoli": (3, lambda x, w: qml.MultiControlledX(w, [1, 0])),
    "word": (3, lambda x, w: qml.PauliRot(x, "XYZ", w)),
    "double": (4, lambda x, w: qml.DoubleExcitation(x, w)),
    "multirz": (4, lambda x, w: qml.MultiRZ(x, w)),
    "matrix": (2, lambda x, w: qml.QubitUnitary(_UNITARY, w)),
    "diagonal": (2, lambda x, w: qml.DiagonalQubitUnitary(jnp.exp(1j * x * jnp.arange(4)), w)),
    "controlled": (3, lambda x, w: qml.ctrl(qml.Rot(x, x, 0.2, w[0]), w[1:], [0, 1])),
}
_CHANNELS = {
    "damping": (1, lambda x, w: qml.AmplitudeDamping(_unit(x), w)),
    "generalized": (1, lambda x, w: qml.GeneralizedAmplitudeDamping(_unit(x), _unit(2 * x), w)),
    "dephasing": (1, lambda x, w: qml.PhaseDamping(_unit(x), w)),
    "depolarizing": (1, lambda x, w: qml.DepolarizingChannel(_unit(x), w)),
    "flip": (1, lambda x, w: qml.BitFlip(_unit(x), w)),
    "reset": (1, lambda x, w: qml.ResetError(_unit(x) / 2, _unit(3 * x) / 3, w)),
    "thermal": (
        1, lambda x, w: qml.ThermalRelaxationError(_unit(x), 1.2, 0.7 + _unit(x), 0.4, w),
    ),
    "words": (3, lambda x, w: qml.PauliError("YZX", _unit(x), w)),
    "two": (2, lambda x, w: qml.PauliError("XY", _unit(x), w)),
    "kraus": (2, lambda x, w: qml.QubitChannel(_KRAUS, w)),
    "replace": (1, lambda x, w: qml.QubitDensityMatrix(_RHO, w)),
}  # fmt: skip
_OPERATIONS = _GATES | _CHANNELS
_UNITARY = unitary_group.rvs(4, random_state=1)
_COLUMNS = unitary_group.rvs(12, random_state=2)[:, :4]
_KRAUS = [_COLUMNS[:4], _COLUMNS[4:8], _COLUMNS[8:]]
_RHO = np.array([[0.3, 0.2j], [-0.2j, 0.7]])


def _unit(x):
    """A probability, smooth in x and away from 0 and 1, where PennyLane adds 1e-14 to roots."""
    return 0.5 + 0.45 * jnp.sin(x)


@st.composite
def operations(draw, most=12):
    count = draw(st.integers(1, most))
    found = []
    for _ in range(count):
        name = draw(st.sampled_from(sorted(_OPERATIONS)))
        wires = draw(st.permutations(range(WIRES)))[: _OPERATIONS[name][0]]
        found.append((name, wires, draw(st.floats(-3, 3))))
    return found


def apply(circuit, x):
    for name, wires, angle in circuit:
        wires = wires[0] if len(wires) == 1 else wires
        _OPERATIONS[name][1](x + angle, wires)


def results():
    return (
        qml.state(),
        qml.probs(wires=[2, 0]),
        qml.expval(qml.X(0) @ qml.Y(3) + 0.5 * qml.Z(1)),
        qml.var(qml.Z(0) @ qml.X(2) + qml.Y(1)),
        qml.density_matrix([3, 1]),
        qml.purity([0, 1]),
    )


def same(found, wanted, tolerance=1e-9):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance)


@settings(max_examples=examples(60), deadline=None)
@given(operations())
def test_random_circuits(circuit):
    @qml.qnode(mixed)
    def program(x):
        apply(circuit, x)
        return results()

    same(qjit(program)(0.3), program(0.3))


@settings(max_examples=examples(40), deadline=None)
@given(operations(4), operations(3), st.integers(0, 3), st.integers(0, 3))
def test_random_control_flow(body, branch, trips, wire):
    """A loop with traced wires, and a branch in it, against what they do."""

    @qml.qnode(mixed)
    def program(x, n, wire):
        qml.RY(x, 0)

        @for_loop(0, n, 1)
        def loop(i, angle):
            apply(body, angle)
            qml.AmplitudeDamping(_unit(angle), (wire + i) % WIRES)
            qml.cond(i == 1, lambda: apply(branch, angle), lambda: qml.RX(angle, wire))()
            return angle + 0.2

        loop(x)
        return results()

    @qml.qnode(mixed)
    def unrolled(x, n, wire):
        qml.RY(x, 0)
        for i in range(n):
            apply(body, x)
            qml.AmplitudeDamping(_unit(x), (wire + i) % WIRES)
            if i == 1:
                apply(branch, x)
            else:
                qml.RX(x, wire)
            x = x + 0.2
        return results()

    same(qjit(program)(0.3, trips, wire), unrolled(0.3, trips, wire))


@settings(max_examples=examples(30), deadline=None)
@given(operations(4), operations(4), operations(4), st.booleans())
def test_random_outcomes(first, second, third, reset):
    """Averages over outcomes, of which some are read, against deferred measurements."""

    @qml.qnode(mixed)
    def program(x):
        apply(first, x)
        found = measure(1, reset=reset)
        apply(second, x)
        qml.cond(found, lambda: qml.RX(x, 2), lambda: qml.RY(x, 0))()
        measure(3)
        apply(third, x)
        return qml.probs(), qml.expval(found), qml.density_matrix([0, 1, 2, 3])

    @qml.qnode(qml.device("default.mixed", wires=WIRES + 1))
    def deferred(x):
        apply(first, x)
        qml.CNOT([1, WIRES])
        if reset:
            qml.CNOT([WIRES, 1])
        apply(second, x)
        qml.CRX(x, [WIRES, 2])
        qml.ctrl(qml.RY(x, 0), WIRES, [0])
        qml.PhaseFlip(0.5, 3)
        qml.PhaseFlip(0.5, WIRES)
        apply(third, x)
        return (
            qml.probs(wires=range(WIRES)), qml.probs(wires=[WIRES]),
            qml.density_matrix(range(WIRES)),
        )  # fmt: skip

    probs, one, rho = qjit(program)(0.4)
    wanted = deferred(0.4)
    same((probs, one, rho), (wanted[0], wanted[1][1], wanted[2]), 1e-7)


def test_of_any_size():
    """One program for each number of wires; no noise is a pure state."""

    @qjit
    def program(n, p):
        @qml.qnode(qml.device("default.mixed", wires=n))
        def circuit():
            qml.H(0)

            @for_loop(0, n - 1, 1)
            def ghz(i):
                qml.CNOT([i, i + 1])
                qml.DepolarizingChannel(p, i)

            ghz()
            return qml.state(), qml.probs(), qml.expval(qml.Z(0) @ qml.Z(n - 1))

        return circuit()

    for n in (2, 3, 5):

        @qml.qnode(qml.device("default.mixed", wires=n))
        def circuit(p, n=n):
            qml.H(0)
            for i in range(n - 1):
                qml.CNOT([i, i + 1])
                qml.DepolarizingChannel(p, i)
            return qml.state(), qml.probs(wires=range(n)), qml.expval(qml.Z(0) @ qml.Z(n - 1))

        same(program(n, 0.1), circuit(0.1))


def test_batches():
    @qml.qnode(mixed)
    def circuit(x, p):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        qml.BitFlip(p, 1)
        return qml.expval(qml.Z(1)), qml.probs(wires=[0, 1])

    angles, strengths = np.linspace(0, 1, 5), np.linspace(0.1, 0.9, 5)
    found = qjit(jax.vmap(circuit))(angles, strengths)
    wanted = [circuit(x, p) for x, p in zip(angles, strengths, strict=True)]
    same(found, [np.stack([w[k] for w in wanted]) for k in range(2)])
    same(qjit(circuit)(angles, 0.2), circuit(angles, 0.2))  # PennyLane's batches of angles


def test_repeated_until_it_is_good():
    """Classical code decides on what was measured before; a channel of the user's."""

    class Leak(qml.operation.Channel):
        num_params = 1
        num_wires = 1

        @staticmethod
        def compute_kraus_matrices(p):
            library = jnp if isinstance(p, jax.core.Tracer) else np
            flip = np.array([[0, 1], [1, 0]])
            return [library.sqrt(1 - p) * np.eye(2), library.sqrt(p) * flip]

    @qml.qnode(mixed)
    def energy(x, p):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        Leak(p, wires=1)
        return qml.expval(qml.Z(1))

    @qjit
    def minimise(p):
        def better(x, value, step):
            new = energy(x + step, p)
            keep = new < value
            next_step = jnp.where(keep, step, -step / 2)
            return jnp.where(keep, x + step, x), jnp.where(keep, new, value), next_step

        loop = while_loop(lambda x, value, step: jnp.abs(step) > 1e-6)(better)
        return loop(0.1, energy(0.1, p), 0.5)

    x, value, _ = minimise(0.1)
    assert abs(value + 0.8) < 1e-9
    assert float(qjit(energy)(float(x), 0.1)) == pytest.approx(float(value))


def test_large_registers():
    """More numbers than a core's cache holds, in parts of all threads."""
    wires = 9

    @qml.qnode(qml.device("default.mixed", wires=wires))
    def circuit(x):
        for layer in range(2):
            for i in range(wires):
                qml.RX(x + i, i)
                qml.CNOT([i, (i + 1) % wires])
                qml.DepolarizingChannel(0.02 * (layer + 1), i)
        return qml.probs(wires=range(4)), qml.expval(qml.X(0) @ qml.Z(5)), qml.purity(range(wires))

    same(qjit(circuit)(0.3), circuit(0.3))
