"""draw, specs, matrix and snapshots of compiled QNodes are those of the same QNodes uncompiled."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from matplotlib import pyplot

from diastase import cond, for_loop, measure, qjit, while_loop
from diastase.capture.device_errors import UnsupportedTransformError

device = qml.device("default.qubit")


@qml.qnode(device)
def with_control_flow(x, n):
    qml.RX(x, 0)

    @for_loop(0, n, 1)
    def rotate(i):
        qml.RY(x * i, i)

    @while_loop(lambda i: i < 2)
    def repeat(i):
        qml.Hadamard(i)
        return i + 1

    rotate()
    repeat(0)
    qml.for_loop(2)(lambda i: [qml.T(i), None][1])()
    cond(x > 0)(qml.X)(1)
    qml.cond(x > 0, qml.Z)(1)
    outcome = measure(0)
    cond(outcome)(qml.X)(2)
    qml.adjoint(qml.S)(1)
    return qml.expval(qml.Z(0)), qml.probs(wires=[0, 1])


@qml.transforms.merge_rotations
@qml.qnode(device)
def plain(x):
    qml.RX(x, 0)
    qml.RX(x, 0)
    qml.CNOT([0, 1])
    return qml.expval(qml.Z(0))


def test_draw_of_straight_circuits():
    """They have their operators as the user wrote them: PennyLane draws them from the tape."""

    @qml.qnode(device)
    def straight(x):
        qml.RX(x, 0)
        qml.QFT([0, 1])
        measure(0)
        return qml.expval(qml.Z(0)), qml.probs(wires=[0, 1])

    for level in ("top", "user", "device"):
        assert qml.draw(qjit(straight), level=level)(0.3) == qml.draw(straight, level=level)(0.3)
    _, axes = qml.draw_mpl(qjit(straight))(0.3)
    _, expected = qml.draw_mpl(straight)(0.3)
    texts = [text.get_text() for text in axes.texts]
    assert texts == [text.get_text() for text in expected.texts]
    assert "RX" in texts
    pyplot.close("all")


def test_specs():
    for level in ("top", "user", "device"):
        found = qml.specs(qjit(plain), level=level)(0.3)
        assert str(found) == str(qml.specs(plain, level=level)(0.3))
    assert qml.resource.specs is qml.specs


def test_matrix():
    expected = qml.matrix(plain, wire_order=[0, 1])(0.3)
    np.testing.assert_allclose(qml.matrix(qjit(plain), wire_order=[0, 1])(0.3), expected)
    inside = qjit(lambda x: jnp.trace(qml.matrix(plain, wire_order=[0, 1])(x)))
    np.testing.assert_allclose(inside(0.3), np.trace(expected), atol=1e-12)


def test_the_pipeline():
    found = qml.workflow.get_compile_pipeline(qjit(plain), level="user")(0.3)
    assert found == qml.workflow.get_compile_pipeline(plain, level="user")(0.3)


def test_what_a_compiled_function_was_made_from():
    compiled = qjit(plain)
    assert compiled.original_function is plain
    assert compiled.user_function is plain
    assert type(compiled).__name__ == "QJIT"


def snapped(name):
    @qml.qnode(qml.device(name, wires=2))
    def circuit(x):
        qml.RX(x, 0)
        qml.Snapshot("first")
        qml.CNOT([0, 1])
        qml.Snapshot()
        qml.Snapshot("mean", measurement=qml.expval(qml.Z(0)))
        return qml.expval(qml.X(0)), qml.probs(wires=[0, 1])

    return circuit


@pytest.mark.filterwarnings("ignore:Snapshots are not supported for the given device")
@pytest.mark.parametrize("name", ["default.qubit", "lightning.qubit", "default.mixed"])
def test_snapshots(name):
    circuit = snapped(name)
    expected = qml.snapshots(circuit)(0.3)
    for found in (
        qml.snapshots(qjit(circuit))(0.3),
        qjit(qml.snapshots(circuit))(0.3),
        qjit(lambda x: qml.snapshots(circuit)(x * 1.0))(0.3),
    ):
        assert list(found) == list(expected)
        for tag, value in expected.items():
            results = zip(found[tag], value, strict=True) if tag == "execution_results" else None
            for result, wanted in results or [(found[tag], value)]:
                np.testing.assert_allclose(result, wanted, atol=1e-12)


def test_snapshots_beside_outcomes_are_refused():
    @qml.qnode(device)
    def circuit():
        qml.Hadamard(0)
        measure(0)
        qml.Snapshot()
        return qml.expval(qml.Z(0))

    with pytest.raises(UnsupportedTransformError, match="mid-circuit"):
        qjit(qml.snapshots(circuit))()
