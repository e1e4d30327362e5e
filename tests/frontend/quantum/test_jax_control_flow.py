"""Gates inside JAX's control flow mean what the program says, as Python would do it."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from jax import lax

from diastase import adjoint, ctrl, for_loop, measure, qjit
from diastase.capture.control_flow.errors import CarryTypeError, LoopConditionError
from diastase.capture.quantum_errors import ForeignRegionError, MeasurementInsideError
from diastase_runtime.errors import DiastaseError, WireOutOfRangeError

VALUES = np.array([0.1, 0.2, 0.4])


def circuit_of(function):
    """A QNode; what the function returns turns a wire, so it is compared, too."""

    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x, n, values):
        for wire in range(3):
            qml.RX(x + wire, wire)
            qml.RY(x * wire, wire)
        qml.CNOT([0, 1])
        result = function(x, n, values)
        if result is not None:
            qml.RX(result, 2)
            qml.RZ(result, 0)
        return qml.state()

    return circuit


def check(function, reference, n=2):
    found = qjit(circuit_of(function))(0.3, n, VALUES)
    np.testing.assert_allclose(found, circuit_of(reference)(0.3, n, VALUES), atol=1e-10)


def rotate(x, wire, result):
    qml.RX(x, wire)
    return result


def test_branches():
    def function(x, n, values):
        y = lax.cond(x > 0.2, lambda a: rotate(a, 0, a), lambda a: rotate(a, 1, 2 * a), x)
        y = lax.cond(n, lambda: rotate(y, 1, 1.0), lambda: 0.0) + y
        lax.cond(x > 5, lambda _: qml.X(0), lambda _: None, operand=None)
        y = y + lax.switch(
            n + 7, [lambda a: a, lambda a: rotate(a, 0, a), lambda a: rotate(a, 2, a**2)], x
        )
        return y + lax.switch(n - 9, [lambda: rotate(x, 1, 0.5), lambda: rotate(x, 2, 1.5)])

    def reference(x, n, values):
        y = rotate(x, 0, x)
        y = rotate(y, 1, 1.0) + y
        return y + rotate(x, 2, x**2) + rotate(x, 1, 0.5)

    check(function, reference)


def test_loops():
    def function(x, n, values):
        k, y = lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, rotate(s[1], s[0], 1.5 * s[1])), (0, x)
        )
        (z,) = lax.while_loop(lambda s: s[0] < 1, lambda s: (rotate(s[0], 0, 3 * s[0]),), (y,))
        w = lax.fori_loop(0, n, lambda i, s: {"a": rotate(s["a"], i, s["a"] + z)}, {"a": 0})
        lax.fori_loop(0, 2, lambda i, s: rotate(x, i, None), None)
        return w["a"] + k

    def reference(x, n, values):
        k, y = 0, x
        while k < n:
            k, y = k + 1, rotate(y, k, 1.5 * y)
        z = y
        while z < 1:
            z = rotate(z, 0, 3 * z)
        w = 0
        for i in range(n):
            w = rotate(w, i, w + z)
        for i in range(2):
            rotate(x, i, None)
        return w + k

    check(function, reference)
    check(function, reference, n=0)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    """Carried values of any structure, one that is weak at first; stacked results; no arrays."""

    def step(carry, row):
        total = rotate(row["u"] * carry[0], 0, carry[0] + row["u"])
        return (total, carry[1] + 1), {"k": total, "rows": row["w"] * total}

    def function(x, n, values):
        rows = {"u": values, "w": jnp.outer(values, values)}
        carry, given = lax.scan(step, (0, 1), rows, reverse=reverse)
        y, nothing = lax.scan(lambda c, _: (rotate(c, 1, 2 * c), None), x, length=3, unroll=2)
        z, _ = lax.scan(lambda c, _: (rotate(c, 2, 2 * c), ()), x, None, length=n)
        assert nothing is None
        weights = jnp.arange(1, 4)
        return carry[0] * carry[1] + given["k"] @ weights + (given["rows"] @ weights).sum() + y + z

    def reference(x, n, values):
        carry, given = (0, 1), {}
        for k in reversed(range(3)) if reverse else range(3):
            row = {"u": values[k], "w": np.outer(values, values)[k]}
            carry, given[k] = step(carry, row)
        for k in range(3):
            rotate(2**k * x, 1, None)
        for k in range(n):
            rotate(2**k * x, 2, None)
        sums = np.array([given[k]["k"] for k in range(3)])
        rows = np.array([given[k]["rows"] for k in range(3)])
        weights = np.arange(1, 4)
        total = carry[0] * carry[1] + sums @ weights + (rows @ weights).sum()
        return total + 8 * x + 2**n * x

    check(function, reference)


def test_map_and_vmap():
    """One element after the other, in order."""

    def element(a, x):
        qml.RX(a, 0)
        qml.RY(x, 0)
        return 2 * a

    def function(x, n, values):
        y = lax.map(lambda a: element(a, x), values)
        y = y + lax.map(lambda pair: element(*pair), (values, values), batch_size=2)
        y = y + jax.vmap(element, in_axes=(0, None))(values, x)
        y = y + jax.vmap(element, in_axes=[0, None])(values, x)
        jax.vmap(lambda wire: [qml.RX(x, wire), qml.CRZ(x, [wire, 0])])(jnp.arange(1, 3))
        table = jnp.outer(values[:2], values)
        z = jax.vmap(lambda a: element(a[0], a[1]) * a, in_axes=1, out_axes=1)(table)
        w = jax.vmap(jax.vmap(lambda a: {"a": element(a, a)}))(table)
        v = jax.vmap(lambda a, *, b: rotate(a, 0, b))(values, b=2 * values)
        return y.sum() + z[0].sum() + (w["a"] @ jnp.arange(3)).sum() + v @ jnp.arange(3)

    def reference(x, n, values):
        table = np.outer(values[:2], values)
        y = sum(element(a, x) for a in values) + sum(element(a, a) for a in values)
        y += sum(element(a, x) for _ in range(2) for a in values)
        for wire in (1, 2):
            qml.RX(x, wire)
            qml.CRZ(x, [wire, 0])
        z = np.stack([element(a[0], a[1]) * a for a in table.T], axis=1)
        w = np.array([[element(a, a) for a in row] for row in table])
        for a in values:
            rotate(a, 0, None)
        return y + z[0].sum() + (w @ np.arange(3)).sum() + 2 * values @ np.arange(3)

    check(function, reference)


def nested_in_python(x, n, values):
    def inner(i, y):
        if i == 0:
            return rotate(y, 2, y)
        for j in range(i):
            y = rotate(y, j, y + 1)
        return y

    def loop(y, n):
        for i in range(n):
            y = inner(i, y)
        return y

    y = loop(x, n)
    for _ in range(n):
        y = loop(y, 2)
    last = []
    qml.adjoint(lambda: last.append(loop(x, n)))()
    qml.ctrl(lambda: [qml.RX(a, 0) for a in values], 1, 0)()
    y = rotate(y + last[0], 0, 2 * (y + last[0]))
    while y < 1:
        y = 2 * y
    return y


def test_nested_with_each_other_and_with_ours():
    def function(x, n, values):
        def inner(i, y):
            return lax.cond(
                i > 0,
                lambda: lax.fori_loop(0, i, lambda j, z: rotate(z, j, z + 1), y),
                lambda: rotate(y, 2, y),
            )

        y = lax.fori_loop(0, n, inner, x)
        y = for_loop(0, n, 1)(lambda i, y: lax.fori_loop(0, 2, inner, y))(y)
        y = y + adjoint(lambda: lax.fori_loop(0, n, inner, x))()
        ctrl(lambda: lax.scan(lambda c, a: (rotate(a, 0, c), None), 0.0, values), 1, 0)()
        y = jax.jit(lambda y: jax.checkpoint(lambda z: rotate(z, 0, 2 * z))(y))(y)
        return jax.remat(lambda z: lax.while_loop(lambda v: v < 1, lambda v: 2 * v, z))(y)

    check(function, nested_in_python)


def test_arrays_of_any_size():
    def function(x, n, values):
        angles = jnp.linspace(0.1, x, n)
        total, given = lax.scan(lambda c, a: (rotate(a + c, 0, c + a), c * a), 0.0, angles)
        mapped = jax.vmap(lambda a: rotate(a, 1, a * x))(angles)
        return total + given.sum() + mapped.sum()

    def reference(x, n, values):
        angles = np.linspace(0.1, x, n)
        total, given = 0.0, []
        for a in angles:
            given.append(total * a)
            total = rotate(a + total, 0, total + a)
        for a in angles:
            rotate(a, 1, None)
        return total + sum(given) + (angles * x).sum()

    compiled = qjit(circuit_of(function))
    for n in (2, 5):
        expected = circuit_of(reference)(0.3, n, VALUES)
        np.testing.assert_allclose(compiled(0.3, n, VALUES), expected, atol=1e-10)


def test_measurements_inside():
    @qjit(seed=4)
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(n):
        def step(carry, wire):
            qml.Hadamard(wire)
            outcome = qml.measure(wire)
            return carry + outcome, outcome

        total, outcomes = lax.scan(step, 0, jnp.arange(3))
        again = jax.vmap(measure)(jnp.arange(3))
        lax.cond(total > 0, lambda: qml.X(0), lambda: None)
        return total, outcomes, again, qml.probs()

    for _ in range(3):
        total, outcomes, again, probabilities = circuit(3)
        assert total == outcomes.sum()
        np.testing.assert_array_equal(outcomes, again)
        bits = outcomes.astype(int) ^ np.array([total > 0, 0, 0])
        assert probabilities[int("".join(map(str, bits)), 2)] == pytest.approx(1)


def test_functions_that_apply_nothing():
    """`adjoint` and `ctrl` of them, in a loop that JAX traces itself as there are no gates."""

    def function(x, n, values):
        y = lax.fori_loop(0, n, lambda i, y: adjoint(lambda z: z + 1)(y), x)
        return lax.scan(lambda c, a: (ctrl(lambda: c + a, 0)(), None), y, values)[0]

    check(function, lambda x, n, values: x + n + values.sum())


def test_without_gates_it_is_jaxs():
    """A loop of JAX can be differentiated, one of ours cannot."""

    @qjit
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit(x):
        def f(y):
            y = lax.scan(lambda c, _: (c * y, None), 1.0, length=3)[0]
            y = lax.cond(y > 0, jnp.sin, jnp.cos, y)
            return jax.checkpoint(lambda z: jax.vmap(lambda v: v * z)(jnp.arange(3.0)).sum())(y)

        qml.RX(jax.grad(f)(x), 0)
        return qml.expval(qml.Z(0))

    expected = np.cos(3 * np.cos(0.3**3) * 3 * 0.3**2)
    assert circuit(0.3) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: lax.while_loop(lambda y: (qml.X(0), y < 1)[1], lambda y: y + 1, x),
         LoopConditionError),
        (lambda x: lax.fori_loop(0, 3, lambda i, y: (qml.X(0), y > 0)[1], x), CarryTypeError),
        (lambda x: lax.fori_loop(0, 3, lambda i, y: (qml.X(7), y)[1], x), WireOutOfRangeError),
        (lambda x: lax.scan(lambda c, y: (qml.X(0), c)[1], x, jnp.ones(3)), TypeError),
        (lambda x: jax.vmap(lambda y: qml.RX(y, 0))(x), ValueError),
        (lambda x: jax.grad(lambda y: adjoint(lambda: (qml.X(0), y)[1])())(x), ForeignRegionError),
        (lambda x: jax.grad(lambda y: ctrl(lambda: (qml.X(0), y)[1], 1)())(x), ForeignRegionError),
        (lambda x: jax.vmap(lambda y, z: qml.RX(y, 0))(jnp.ones(2), jnp.ones(3)), ValueError),
        (lambda x: adjoint(lambda: jax.vmap(measure)(jnp.arange(2)))(), MeasurementInsideError),
        (lambda x: lax.cond(x > 0, lambda: qml.expval(qml.Z(0)), lambda: None), DiastaseError),
    ],
)  # fmt: skip
def test_refused(function, error):
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x):
        function(x)
        return qml.probs()

    with pytest.raises(error):
        qjit(circuit)(0.3)
