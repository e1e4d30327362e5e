"""Gates inside control flow: ours threads the state; anything else is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, qjit, switch, while_loop
from diastase.capture.quantum_errors import (
    ForeignRegionError,
    UnsupportedOperationError,
    UnsupportedReturnError,
)
from diastase_runtime.errors import DiastaseError, WireOutOfRangeError

IMPORTED_BEFORE = jax.lax.fori_loop.__wrapped__
"""What a module has that took the function from JAX before diastase was imported."""


def device(wires=3):
    return qml.device("default.qubit", wires=wires)


def test_layers_in_a_loop(same_as_pennylane):
    """The control-flow functions run as plain Python outside of compiled programs."""

    @qml.qnode(device())
    def circuit(x, n):
        @for_loop(0, n, 1)
        def layer(i, angle):
            qml.RX(angle, 0)
            for wire in range(2):
                qml.CNOT([wire, wire + 1])
            qml.RY(angle * i, i % 3)
            return angle * 1.5

        last = layer(x)
        qml.RZ(last, 1)
        return qml.state()

    same_as_pennylane(circuit, 0.2, 4)


def test_nested_regions(same_as_pennylane):
    @qml.qnode(device())
    def circuit(x, n):
        qml.Hadamard(0)

        @for_loop(0, n, 1)
        def outer(i):
            @for_loop(0, 3, 1)
            def inner(j):
                qml.CRX(x * (i + 1), [j, (j + 1) % 3])

            inner()

            @cond(i > 1)
            def branch():
                qml.X(1)

            @branch.otherwise
            def branch():
                qml.Hadamard(2)

            branch()

        outer()

        @while_loop(lambda k: k < 3)
        def climb(k):
            qml.RZ(x, k)
            return k + 1

        climb(0)
        return qml.state()

    same_as_pennylane(circuit, 0.7, 3)


@pytest.mark.parametrize("case", [0, 1, 2])
def test_switch(case):
    @qjit
    @qml.qnode(device())
    def circuit(case):
        @switch(case)
        def chosen():
            qml.X(0)

        @chosen.branch(1)
        def chosen_one():
            qml.Hadamard(1)

        chosen()
        return qml.probs(wires=[0, 1])

    expected = [0.5, 0.5, 0, 0] if case == 1 else [0, 0, 1, 0]
    np.testing.assert_allclose(circuit(case), expected, atol=1e-12)


def test_classical_control_flow_of_jax_between_gates(same_as_pennylane):
    @qml.qnode(device())
    def circuit(x):
        qml.RX(x, 0)
        y = jax.lax.fori_loop(0, 3, lambda i, v: v * 1.1, x)
        z = jax.vmap(jnp.sin)(jnp.stack([x, y])).sum()
        w = jax.grad(lambda v: v**2)(z)
        qml.RY(w, 1)
        return qml.state()

    same_as_pennylane(circuit, 0.3)


@pytest.mark.parametrize(
    "apply",
    [
        lambda x: jax.grad(lambda v: (qml.RX(v, 0), v)[1])(x),
        lambda x: jax.jvp(lambda v: (qml.X(0), v)[1], (x,), (x,)),
        lambda x: jax.eval_shape(lambda v: (qml.X(0), v)[1], x),
        lambda x: jax.make_jaxpr(lambda v: (qml.X(0), v)[1])(x),
        lambda x: jax.linearize(lambda v: (qml.RX(v, 0), v)[1], x)[0],
        lambda x: jax.vmap(lambda v: (qml.X(0), v)[1], axis_name="rows")(jnp.stack([x, x])),
        lambda x: jax.lax.associative_scan(lambda a, b: (qml.X(0), a + b)[1], jnp.ones(4)),
        lambda x: jax.lax.custom_root(
            lambda v: v, x, lambda f, v: (qml.X(0), v)[1], lambda g, y: y / g(1.0)
        ),
        lambda x: IMPORTED_BEFORE(0, 2, lambda i, v: (qml.X(0), v)[1], x),
        lambda x: qml.prod(lambda: for_loop(0, 2, 1)(lambda i: (qml.S(0), None)[1])())(),
        lambda x: qml.prod(lambda: cond(x > 0)(lambda: (qml.S(0), None)[1])())(),
    ],
)
def test_refused_in_foreign_regions(apply):
    @qml.qnode(device())
    def circuit(x):
        apply(x)
        return qml.probs()

    with pytest.raises(ForeignRegionError):
        qjit(circuit)(0.3)


@pytest.mark.parametrize(
    ("apply", "hint"),
    [
        (
            lambda x: jax.grad(lambda y: (qml.X(0), y)[1])(x),
            "help: apply it outside of that function",
        ),
        (
            lambda x: qml.prod(lambda: for_loop(0, 2, 1)(lambda i: (qml.S(0), None)[1])())(),
            "help: apply it in the circuit itself",
        ),
    ],
)
def test_the_help_fits_the_region(apply, hint):
    @qml.qnode(device())
    def circuit(x):
        apply(x)
        return qml.probs()

    with pytest.raises(ForeignRegionError, match=hint):
        qjit(circuit)(0.3)


def test_jit_inside_a_circuit(same_as_pennylane):
    """jax.jit is inlined: gates in it are applied in order."""

    @qml.qnode(device())
    def circuit(x):
        qml.Hadamard(0)
        y = jax.jit(lambda v: v * 2)(x)
        qml.RX(y, 1)
        return qml.state()

    same_as_pennylane(circuit, 0.3)


def test_adjoint_and_ctrl_of_plain_quantum_functions(same_as_pennylane):
    def layer(x):
        qml.RX(x, 0)
        qml.S(1)
        qml.CNOT([0, 1])

    @qml.qnode(device())
    def circuit(x):
        qml.Hadamard(2)
        qml.adjoint(layer)(x)
        qml.ctrl(layer, control=2)(x)
        return qml.state()

    same_as_pennylane(circuit, 0.3)


def test_measurement_process_in_a_loop():
    @qml.qnode(device())
    def circuit():
        @for_loop(0, 2, 1)
        def body(i, value):
            qml.X(0)
            return qml.expval(qml.Z(0))

        return body(0.0)

    with pytest.raises(DiastaseError, match="ExpectationMP"):
        qjit(circuit)()


def test_measurement_process_in_a_branch():
    @qml.qnode(device())
    def circuit(x):
        @cond(x > 0)
        def branch():
            return qml.expval(qml.Z(0))

        @branch.otherwise
        def branch_otherwise():
            return qml.expval(qml.Z(0))

        return branch()

    with pytest.raises(UnsupportedReturnError, match="measurement"):
        qjit(circuit)(0.3)


def test_observable_applied_as_a_gate_before_a_loop():
    @qml.qnode(device())
    def circuit():
        qml.Hermitian(np.eye(2), 0)
        for_loop(0, 2, 1)(lambda i: None)()
        return qml.probs()

    with pytest.raises(UnsupportedOperationError, match="observable"):
        qjit(circuit)()


def test_error_in_a_region_names_its_line():
    @qml.qnode(device())
    def circuit(n):
        @for_loop(0, n, 1)
        def body(i):
            qml.X(7)

        body()
        return qml.probs()

    with pytest.raises(WireOutOfRangeError) as raised:
        qjit(circuit)(2)
    assert "qml.X(7)" in str(raised.value)


def test_recursion_that_python_can_decide():
    """Branches that a predicate known while tracing rules out are not traced."""

    @qjit
    @qml.qnode(device())
    def circuit(x):
        def ladder(wire):
            qml.RX(x, wire)
            cond(wire < 2)(lambda: ladder(wire + 1))()
            qml.cond(wire > 5, lambda: ladder(wire), elifs=[(wire == 2, lambda: qml.X(0))])()

        ladder(0)
        return qml.expval(qml.Z(0)), qml.expval(qml.Z(2))

    np.testing.assert_allclose(circuit(0.3), [-np.cos(0.3), np.cos(0.3)], atol=1e-12)


def test_operators_in_a_tape_that_jax_would_run_several_times():
    @qml.qnode(device())
    def circuit(x):
        qml.prod(lambda: (jax.lax.fori_loop(0, 3, lambda i, y: (qml.T(0), y)[1], x), qml.X(0)))()
        return qml.probs()

    with pytest.raises(ForeignRegionError):
        qjit(circuit)(0.3)
