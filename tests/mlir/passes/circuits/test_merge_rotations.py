"""Rotations of one kind become one, of the same matrix, sign included."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, grad, qjit, while_loop
from diastase.passes import merge_rotations


def ready():
    for wire in range(4):
        qml.RY(0.3 + 0.4 * wire, wire)
        qml.H(wire)


READY = ["RY", "Hadamard"] * 4

ROTATIONS = {
    "RX": lambda a: qml.RX(a, 0),
    "RY": lambda a: qml.RY(a, 0),
    "RZ": lambda a: qml.RZ(a, 0),
    "PhaseShift": lambda a: qml.PhaseShift(a, 0),
    "U1": lambda a: qml.U1(a, 0),
    "CRX": lambda a: qml.CRX(a, [0, 1]),
    "CRY": lambda a: qml.CRY(a, [0, 1]),
    "CRZ": lambda a: qml.CRZ(a, [0, 1]),
    "ControlledPhaseShift": lambda a: qml.ControlledPhaseShift(a, [0, 1]),
    "CPhaseShift00": lambda a: qml.CPhaseShift00(a, [0, 1]),
    "CPhaseShift01": lambda a: qml.CPhaseShift01(a, [0, 1]),
    "CPhaseShift10": lambda a: qml.CPhaseShift10(a, [0, 1]),
    "IsingXX": lambda a: qml.IsingXX(a, [0, 1]),
    "IsingYY": lambda a: qml.IsingYY(a, [0, 1]),
    "IsingZZ": lambda a: qml.IsingZZ(a, [0, 1]),
    "IsingXY": lambda a: qml.IsingXY(a, [0, 1]),
    "SingleExcitation": lambda a: qml.SingleExcitation(a, [0, 1]),
    "SingleExcitationPlus": lambda a: qml.SingleExcitationPlus(a, [0, 1]),
    "SingleExcitationMinus": lambda a: qml.SingleExcitationMinus(a, [0, 1]),
    "FermionicSWAP": lambda a: qml.FermionicSWAP(a, [0, 1]),
    "DoubleExcitation": lambda a: qml.DoubleExcitation(a, [0, 1, 2, 3]),
    "DoubleExcitationPlus": lambda a: qml.DoubleExcitationPlus(a, [0, 1, 2, 3]),
    "DoubleExcitationMinus": lambda a: qml.DoubleExcitationMinus(a, [0, 1, 2, 3]),
    "OrbitalRotation": lambda a: qml.OrbitalRotation(a, [0, 1, 2, 3]),
    "MultiRZ": lambda a: qml.MultiRZ(a, [0, 1, 2]),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", ROTATIONS)
def test_additive_rotations(left_by, name):
    def circuit(x, y):
        ready()
        for angle in (x, 0.3, y + 3.0):
            ROTATIONS[name](angle)
        return qml.state()

    assert left_by("merge_rotations", circuit, 0.8, 5.1, wires=4) == [*READY, name]


def test_general_rotations(left_by):
    def circuit(x):
        ready()
        for angle in (0.1, -4.0, 2.0):
            qml.Rot(angle, 0.7, 2.5, 0)
            qml.CRot(1.0, angle, -0.3, [0, 1])
            qml.S(2), qml.ctrl(qml.Rot(0.2, angle, 9.0, 2), [1, 3])
        qml.Rot(0.1, 0.2, 0.3, 3), qml.Rot(7.0, -0.6, 0.7, 3)
        return qml.state()

    assert left_by("merge_rotations", circuit, 0.8, wires=4).count("Rot") == 7


@pytest.mark.parametrize("theta", [0.0, np.pi, 2 * np.pi])
def test_general_rotations_at_the_poles(left_by, theta):
    """Under a control the sign shows, too."""

    def circuit():
        ready()
        for middle in (theta, 0.0, theta, np.pi):
            qml.CRot(0.4, middle, -1.1, [0, 1])
        return qml.state()

    assert left_by("merge_rotations", circuit, wires=4) == [*READY, "CRot"]


def test_general_rotations_of_angles_known_at_run_time_only(left_by):
    """Where sums of angles do; the rest would have a gradient that is NaN at some angles."""

    def circuit(x, y, z):
        ready()
        qml.Rot(x, y, z, 0), qml.adjoint(qml.Rot(x, y, z, 0))
        qml.CRot(x, y, z, [0, 1]), qml.CRot(y, 0.0, 0.3, [0, 1])
        qml.Rot(x, 0.0, z, 2), qml.Rot(x, y, z, 2)
        qml.Rot(0.0, 0.0, 0.0, 3), qml.Rot(0.0, 0.0, 0.0, 3)
        qml.CRot(x, y, z, [3, 2]), qml.CRot(y, x, z, [3, 2])
        return qml.state()

    left = left_by("merge_rotations", circuit, 0.8, -1.1, 2.0, wires=4)
    assert sorted(left[8:]) == ["CRot", "CRot", "CRot", "Rot", "Rot"]


@pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0), (0.3, 0.0, -0.5), (0.3, np.pi, 0.2)])
def test_derivatives_where_a_product_is_diagonal_or_antidiagonal(angles):
    """As at angles that are all zero, where many a training begins."""

    def circuit(x):
        ready()
        qml.CRot(*x, [0, 1]), qml.CRot(*x[::-1], [0, 1])
        qml.Rot(*x, 2), qml.adjoint(qml.Rot(*x, 2)), qml.Rot(*x, 2), qml.Rot(x[1], x[0], 0.0, 2)
        return qml.expval(qml.X(1) @ qml.Y(2) + qml.X(0))

    compiled = qml.QNode(circuit, qml.device("lightning.qubit", wires=4))
    reference = qml.QNode(circuit, qml.device("default.qubit", wires=4))
    x = jnp.array(angles)
    got = qjit(grad(merge_rotations(compiled)))(x)
    np.testing.assert_allclose(got, jax.grad(reference)(x), atol=1e-10)


def test_what_stays(left_by):
    def circuit(x):
        ready()
        qml.RX(x, 0), qml.RY(x, 0), qml.RX(x, 0)
        qml.CRX(x, [0, 1]), qml.CRX(x, [1, 0])
        qml.PSWAP(x, [2, 3]), qml.PSWAP(x, [2, 3])
        qml.U2(x, x, 0), qml.U2(x, x, 0)
        qml.U3(x, x, 0.1, 0), qml.U3(x, x, 0.1, 0)
        return qml.state()

    assert len(left_by("merge_rotations", circuit, 0.8, wires=4)) == 8 + 11


def test_a_sum_that_is_zero_goes(left_by):
    def circuit():
        ready()
        qml.RX(0.5, 0), qml.RX(0.25, 0), qml.RX(-0.75, 0)
        return qml.state()

    assert left_by("merge_rotations", circuit, wires=4) == READY


def test_in_loops_and_on_wires_known_at_run_time_only(left_by, when):
    """Within an iteration, on the same value; never between what comes before and inside."""

    def circuit(x, n, w):
        ready()
        qml.RX(x, 0)

        @for_loop(0, n, 1)
        def loop(i, angle):
            qml.RX(angle, i), qml.RX(angle, i)
            qml.RX(angle, w), qml.RX(x, w)
            qml.RZ(x, 1), qml.RZ(angle, 1)
            return angle / 2

        loop(x)

        @while_loop(lambda angle: angle < 1)
        def other(angle):
            qml.RX(angle, 0), qml.RX(x, 0)
            return angle + 0.3

        angle = other(x)
        qml.RX(angle, 0)
        when(x > 0, lambda: (qml.RX(x, w), qml.RX(angle, w)))
        return qml.state()

    left = left_by("merge_rotations", circuit, jnp.asarray(0.1), 3, 0, wires=4)
    assert left == [*READY, "RX", "RX", "RX", "RZ", "RX", "RX", "RX"]
