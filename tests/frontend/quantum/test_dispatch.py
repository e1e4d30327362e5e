"""PennyLane's own control flow, measurements and derivatives inside of compiled programs."""

import tomllib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import QJIT, qjit
from diastase.api.differentiable import (
    DerivativeArgumentError,
    DerivativeMethodError,
    DerivativeTypeError,
)
from diastase.capture.pennylane_compat.compilers import ENTRY_POINTS, GROUP, NAME


def device(wires=3):
    return qml.device("default.qubit", wires=wires)


def test_entry_points_are_those_of_the_package():
    text = Path(__file__).parents[3].joinpath("pyproject.toml").read_text()
    declared = tomllib.loads(text)["project"]["entry-points"][GROUP]
    assert declared == {f"{NAME}.{name}": value for name, value in ENTRY_POINTS.items()}


def test_pennylane_knows_the_compiler():
    assert "diastase" in qml.compiler.available_compilers()
    assert qml.compiler.available("diastase")
    assert qml.compiler.active_compiler() is None


def test_the_active_compiler():
    """Ours inside of a program; none outside, and none while PennyLane builds something."""
    seen = []

    class Custom(qml.operation.Operation):
        num_wires = 1

        @staticmethod
        def compute_matrix():
            seen.append(("matrix", qml.compiler.active_compiler()))
            return np.array([[0, 1], [1, 0]])

    @qml.qnode(device())
    def circuit():
        seen.append(("circuit", qml.compiler.active_compiler()))
        with qml.queuing.AnnotatedQueue():
            seen.append(("queue", qml.compiler.active_compiler()))
        Custom(0)
        return qml.probs(wires=0)

    def program():
        seen.append(("program", qml.compiler.active_compiler()))
        return circuit()

    np.testing.assert_allclose(qjit(program)(), [0, 1], atol=1e-12)
    assert dict(seen) == {
        "program": "diastase",
        "circuit": "diastase",
        "queue": None,
        "matrix": None,
    }
    seen.clear()
    program()
    assert {active for _, active in seen} == {None}


def test_qjit_of_pennylane():
    @qml.qjit(compiler="diastase", static_argnums=1, seed=3)
    @qml.qnode(device())
    def circuit(x, wire):
        qml.RX(x, wire)
        return qml.expval(qml.Z(wire))

    assert isinstance(circuit, QJIT)
    np.testing.assert_allclose(circuit(0.3, 2), np.cos(0.3), atol=1e-12)
    assert isinstance(qml.qjit(lambda x: x, compiler="diastase"), QJIT)


def test_loops_and_branches(same_as_pennylane):
    """All forms of them, over gates; uncompiled, PennyLane runs them as plain Python."""

    def rotate(angle, wire):
        qml.RY(angle, wire)
        return 2 * angle

    @qml.qnode(device())
    def circuit(x, n):
        @qml.for_loop(0, n, 1)
        def layer(i, y):
            qml.RX(y, i % 3)
            qml.cond(y > 0.3, qml.X, qml.Hadamard, elifs=[(y > 0.2, qml.Y)])(wires=1)
            return y * 1.1

        y = layer(x)
        qml.for_loop(n)(lambda i: qml.RZ(y * i, i % 3) and None)()

        @qml.for_loop(n, 0, -1, allow_array_resizing=False)
        def down(i):
            qml.CRX(x * i, [i % 3, (i + 1) % 3])

        down()

        @qml.while_loop(lambda k, z: (k < 3) & (z < 100))
        def climb(k, z):
            z = rotate(z, k)
            return k + 1, z

        k, z = climb(0, y)

        @qml.cond(z > 1)
        def branch(a, wire):
            qml.RX(a, wire)
            return a

        @branch.else_if(z > 0.5)
        def branch(a, wire):
            qml.RY(a, wire)
            return 3 * a

        @branch.otherwise
        def branch(a, wire):
            qml.Hadamard(wire)
            return 4 * a

        w = branch(y, wire=k - 1)
        w = w + qml.cond(w > 0, rotate, lambda a, wire: a)(w, 2)
        qml.cond(n > 2, qml.adjoint(qml.RX))(w, 0)
        qml.cond(n > 5, lambda: [qml.X(0), qml.X(1)])()
        qml.RX(w, 0)
        qml.RX(w + k, 0)
        return qml.state()

    for x, n in ((0.3, 4), (0.1, 2), (0.02, 1)):
        same_as_pennylane(circuit, x, n)


def test_loops_and_branches_outside_of_circuits(same_as_pennylane):
    def program(x, n):
        y = qml.for_loop(0, n, 1)(lambda i, v: v * 1.5 + i)(x)
        y = qml.while_loop(lambda v: v > 1)(lambda v: v / 2)(y)
        return qml.cond(y > 0.7, jnp.sin, jnp.cos)(y)

    assert qjit(program)(0.3, 5) == pytest.approx(program(0.3, 5))


def test_measurements_and_feed_forward():
    @qjit(seed=5)
    @qml.qnode(device())
    def circuit():
        qml.Hadamard(0)
        outcome = qml.measure(0)
        qml.cond(outcome, qml.X, qml.Y)(wires=1)
        qml.cond(~outcome, qml.Z)(1)
        qml.cond(outcome == 0, lambda: qml.X(2))()
        reset = qml.measure(0, reset=True)
        selected = qml.measure(2, postselect=None)
        return outcome, reset, selected, qml.probs(wires=[0, 1, 2])

    for _ in range(4):
        outcome, again, selected, probabilities = circuit()
        assert outcome == again
        assert selected != outcome
        expected = np.zeros((2, 2, 2))
        expected[0, 1, int(selected)] = 1
        np.testing.assert_allclose(probabilities, expected.ravel(), atol=1e-12)


def test_uncompiled_pennylane_is_its_own():
    """After programs have been compiled, too."""

    @qml.qnode(device())
    def circuit(x):
        qml.RX(x, 0)
        outcome = qml.measure(0)
        qml.cond(outcome, qml.X)(1)
        return qml.probs(wires=[0, 1]), qml.expval(outcome)

    probabilities, average = circuit(0.3)
    p = np.sin(0.15) ** 2
    np.testing.assert_allclose(probabilities, [1 - p, 0, 0, p], atol=1e-12)
    assert average == pytest.approx(p)


# --- derivatives ---------------------------------------------------------------------------------


def test_derivatives_of_classical_functions():
    def f(x, y):
        return jnp.sum(x**2 * y)

    def g(x, y):
        return {"a": x * y, "b": jnp.sin(x)}

    def program(x, y):
        return {
            "grad": qml.grad(f)(x, y),
            "both": qml.grad(f, argnums=[0, 1])(x, y),
            "second": qml.grad(f, argnums=1, method="auto")(x, y),
            "value": qml.value_and_grad(f, argnums=1)(x, y),
            "jacobian": qml.jacobian(g, argnums=[1])(x, y),
            "jvp": qml.jvp(g, [x, y], [y], argnums=[1]),
            "jvp_first": qml.jvp(f, (x, y), (y,)),
            "vjp": qml.vjp(g, [x, y], {"a": x, "b": y}, argnums=[0, 1]),
            "vjp_second": qml.vjp(f, [x, y], 2.0, argnums=1),
        }

    x, y = jnp.array([0.3, 0.5]), jnp.array([1.5, 2.5])
    _, pull_back = jax.vjp(g, x, y)
    expected = {
        "grad": jax.grad(f)(x, y),
        "both": jax.grad(f, argnums=(0, 1))(x, y),
        "second": jax.grad(f, argnums=1)(x, y),
        "value": jax.value_and_grad(f, argnums=1)(x, y),
        "jacobian": jax.jacobian(g, argnums=(1,))(x, y),
        "jvp": jax.jvp(lambda v: g(x, v), (y,), (y,)),
        "jvp_first": jax.jvp(lambda v: f(v, y), (x,), (y,)),
        "vjp": (g(x, y), pull_back({"a": x, "b": y})),
        "vjp_second": (f(x, y), 2 * x**2),
    }
    found = qjit(program)(x, y)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12), found, expected)


def test_derivatives_of_a_qnode():
    @qml.qnode(device())
    def expectation(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    found = qjit(lambda x: (qml.grad(expectation)(x), qml.jacobian(expectation)(x)))(0.3)
    np.testing.assert_allclose(found, [-np.sin(0.3)] * 2, atol=1e-12)


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (lambda x: qml.grad(jnp.sin, method="adjoint")(x), DerivativeMethodError),
        (lambda x: qml.jacobian(jnp.sin, h=0.0)(x), DerivativeMethodError),
        (lambda x: qml.jvp(jnp.sin, x, [x]), DerivativeArgumentError),
        (lambda x: qml.jvp(jnp.sin, [x], [x, x]), DerivativeTypeError),
        (lambda x: qml.vjp(jnp.sin, [x], [x, x]), DerivativeTypeError),
        (lambda x: qml.vjp(jnp.sin, [x], [x], argnums=3), DerivativeArgumentError),
    ],
)
def test_derivatives_that_are_refused(program, error):
    with pytest.raises(error):
        qjit(program)(0.3)
