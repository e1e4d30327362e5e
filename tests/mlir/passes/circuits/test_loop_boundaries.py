"""Gates at the two ends of a loop's body, for any number of iterations."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import DiastaseError, for_loop, measure, qjit, while_loop


def ready():
    for wire in range(3):
        qml.RY(0.3 + 0.4 * wire, wire)


READY = ["RY"] * 3


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_inverses(left_by, count):
    def circuit(x, n):
        ready()

        @for_loop(0, n, 1)
        def loop(i):
            qml.H(0), qml.S(1), qml.CRX(x, [2, 1])
            qml.CNOT([0, 2])
            qml.RX(0.1 * i, 1)
            qml.adjoint(qml.CRX(x, [2, 1])), qml.adjoint(qml.S(1)), qml.H(0)

        loop()
        return qml.state()

    left = left_by("cancel_inverses", circuit, jnp.asarray(0.8), count)
    assert sorted(left[3:6]) == ["CRX", "Hadamard", "S"]
    assert left[6:8] == ["CNOT", "RX"]
    assert sorted(left[8:]) == ["Adjoint(S)", "Hadamard", "RX"]  # the adjoint, under a control


@pytest.mark.parametrize("count", [0, 1, 4])
def test_they_meet_what_is_around_the_loop(left_by, count):
    def circuit(n):
        ready()
        qml.H(0)

        @for_loop(0, 2, 1)
        def outer(_):
            @for_loop(0, n, 1)
            def loop(i):
                qml.H(0), qml.T(0), qml.H(0)

            loop()

        outer()
        qml.H(0)
        return qml.state()

    assert left_by("cancel_inverses", circuit, count) == [*READY, "T"]


@pytest.mark.parametrize("count", [0, 1, 4])
def test_rotations(left_by, count):
    def circuit(x, n):
        ready()

        @for_loop(0, n, 1)
        def loop(i, angle):
            qml.RX(x, 0), qml.CRZ(0.4, [1, 2])
            qml.RZ(angle, 0), qml.H(1)
            qml.RX(angle, 0), qml.H(1), qml.CRZ(-0.4, [1, 2])
            return angle * 0.7

        loop(x)

        @while_loop(lambda k: k < n)
        def other(k):
            qml.RX(0.2, 0)
            qml.RY(0.3, 0)
            qml.RX(x, 0)
            return k + 1

        other(0)
        return qml.state()

    left = left_by("merge_rotations", circuit, jnp.asarray(0.8), count)
    assert left.count("RX") == 1 + 1 + 1 + 1 + 1  # between the loops two have become one
    assert left.count("CRZ") == 2
    kept = left_by({"merge_rotations": {"loops": False}}, circuit, jnp.asarray(0.8), count)
    assert kept.count("RX") == 4
    assert kept.count("CRZ") == 2


def test_what_stays_inside(left_by):
    """Something acts on the wire first; a wire or an angle belongs to the iteration."""

    def circuit(x, n, w):
        ready()

        @for_loop(0, n, 1)
        def loop(i):
            qml.X(i), qml.H(0), qml.T(0), qml.H(0), qml.X(i)

        @for_loop(0, n, 1)
        def other(i):
            qml.RX(x * i, 0), qml.H(0), qml.RX(-(x * i), 0)
            qml.H(w), qml.T(w), qml.H(w)

        loop()
        other()
        return qml.state()

    left = left_by(["cancel_inverses", "merge_rotations"], circuit, jnp.asarray(0.8), 3, 1)
    assert len(left) == 3 + 5 + 6


def test_measurements_inside(left_by):
    """Whatever is in between: with equal seeds both find the same outcomes."""

    def circuit(x, n):
        ready()

        @for_loop(0, n, 1)
        def loop(i):
            qml.H(0)
            measure(0, reset=True)
            qml.RX(x, 0)
            qml.CNOT([0, 1])
            qml.H(0)

        loop()

        @while_loop(lambda k: k < 3)
        def other(k):
            qml.X(1), qml.Y(0)
            qml.RX(x, 1), qml.RX(x, 0)
            measure(2)
            qml.X(1), qml.Y(0)
            return k + 1

        other(0)
        return qml.state()

    qnode = qml.QNode(circuit, qml.device("lightning.qubit", wires=3))
    passed = qjit(qnode, seed=5, circuit_transform_pipeline={"cancel_inverses": {}})
    np.testing.assert_allclose(passed(0.8, 4), qjit(qnode, seed=5)(0.8, 4), atol=1e-12)
    assert passed.mlir.count('"PauliX"') == 2


def test_no_wire_is_checked_where_the_loop_is_not_entered():
    def circuit(n, w):
        @for_loop(0, n, 1)
        def loop(i):
            qml.H(w), qml.T(w), qml.H(w)

        loop()
        return qml.probs(wires=0)

    qnode = qml.QNode(circuit, qml.device("lightning.qubit", wires=1))
    passed = qjit(qnode, circuit_transform_pipeline={"cancel_inverses": {}})
    np.testing.assert_allclose(passed(0, 7), [1, 0])
    with pytest.raises(DiastaseError):
        passed(1, 7)
