"""Parameters by any arithmetic on arrays: their gradients; programs do not grow with them."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import for_loop, qjit, while_loop

LAYERS, WIRES = 3, 2
NUMBERS = np.linspace(0.3, 1.7, LAYERS * WIRES * 2).reshape(LAYERS, WIRES, 2)
A = jnp.asarray(np.random.default_rng(7).uniform(0.1, 3, (LAYERS, WIRES, 2)))
X, K = jnp.float64(0.7), jnp.int64(2)


def device():
    return qml.device("default.qubit", wires=WIRES)


def rotated(layers, angle):
    """A circuit whose angles are `angle(layer, wire, number)`."""
    for layer in range(layers):
        for wire in range(WIRES):
            qml.RY(angle(layer, wire, 0), wire)
            qml.RZ(angle(layer, wire, 1), wire)
        qml.CNOT([0, 1])
    return qml.expval(qml.Z(0) @ qml.Y(1))


PLACES = [(r, q, i) for r in range(LAYERS) for q in range(WIRES) for i in range(2)]


@cache
def reference():
    """The result by the angles as a vector, by backprop, compiled once."""

    def body(angles):
        return rotated(LAYERS, lambda *place: angles[PLACES.index(place)])

    return jax.jit(qml.QNode(body, device(), diff_method="backprop"))


def each(function):
    """`function(a, x, k, layer, wire, number)` as a form."""
    return lambda a, x, k: lambda r, q, i: function(a, x, k, r, q, i)


FORMS = {
    "plus": each(lambda a, x, k, r, q, i: (a + 3.0)[r, q, i]),
    "numbers": each(lambda a, x, k, r, q, i: a[r, q, i] * NUMBERS[r, q, i] + r),
    "flat": each(lambda a, x, k, r, q, i: a.reshape(-1)[(r * WIRES + q) * 2 + i] * x),
    "transposed": each(lambda a, x, k, r, q, i: a.T[i, q, r] * jnp.sin(x)),
    "repeated": each(lambda a, x, k, r, q, i: (a * a[0, :, :1] + jnp.ones((3, 1, 1)))[r][q][i]),
    "deep": each(lambda a, x, k, r, q, i: jnp.sin(a[r, q, i] * x) ** 2 / (1.5 + a[r, 0, 0])),
    "single": each(lambda a, x, k, r, q, i: a.astype(jnp.float32)[r, q, i] * 1.5),
    "row": each(lambda a, x, k, r, q, i: a[k, q, i] * (k + r)),
    "rows": each(lambda a, x, k, r, q, i: a[(k + r) % LAYERS, q, i]),
    "computed": each(lambda a, x, k, r, q, i: a[jnp.minimum(k + r, 2), q, i] * x + a[0, k - q, i]),
    "row of a sum": each(lambda a, x, k, r, q, i: (a - x)[k - 1][q, i] * a[-k, q, i]),
    "scalar": each(lambda a, x, k, r, q, i: x),
    "where": each(lambda a, x, k, r, q, i: jnp.where(a[r, q, i] > 1.5, a[r, q, i] ** 3, x)),
    "backwards": each(lambda a, x, k, r, q, i: a[::-1, ::-1][r, q, i] - a[r, q, i]),
    "product": each(lambda a, x, k, r, q, i: (a @ jnp.ones((2, 2)) * x)[r, q, i]),
    "slices": each(lambda a, x, k, r, q, i: a[1:][:, ::2][r % 2, 0][i]),
    "stack": each(lambda a, x, k, r, q, i: jnp.stack([a, 2 * a])[r % 2, r, q, i]),
    "integer": each(lambda a, x, k, r, q, i: jnp.arange(12).reshape(3, 2, 2)[r, q, i] * x),
    "nothing": each(lambda a, x, k, r, q, i: 0.1 * r + 0 * x),
}


def derivatives(functions, derivative):
    """Of functions of `(a, x, k)` by `a` and `x`."""
    return lambda a, x, k: [derivative(function, argnums=(0, 1))(a, x, k) for function in functions]


def compare(found, expected, tolerance):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance)


def check(forms, derivative=jax.grad, tolerance=1e-10):
    known = reference()

    def node(form):
        return qml.QNode(lambda a, x, k: rotated(LAYERS, form(a, x, k)), device())

    def plain(form):
        return lambda a, x, k: known(jnp.stack([form(a, x, k)(*place) for place in PLACES]))

    found = qjit(derivatives(list(map(node, forms)), derivative))(A, X, K)
    compare(found, derivatives(list(map(plain, forms)), derivative)(A, X, K), tolerance)


@pytest.mark.thorough
def test_forms():
    names = [name for name in FORMS if name != "single"]
    check([FORMS[name] for name in names])
    check([FORMS["single"]], tolerance=1e-6)


@pytest.mark.thorough
def test_second_order():
    check([FORMS["deep"]], jax.hessian)


STEPS = {
    "sum": lambda one, other: one + other,
    "product": lambda one, other: one * other,
    "sine": lambda one, other: jnp.sin(one) - other,
    "quotient": lambda one, other: one / (2.0 + other**2),
    "larger": lambda one, other: jnp.maximum(one, other),
    "single": lambda one, other: one.astype(jnp.float32).astype(jnp.float64) + other,
}
ARRAYS = {
    "all": lambda a, x: a,
    "one": lambda a, x: jnp.broadcast_to(a[1, :1, :], a.shape),
    "number": lambda a, x: jnp.full(a.shape, x),
    "turned": lambda a, x: a[::-1, :, ::-1],
    "shape": lambda a, x: a.T.reshape(a.shape),
    "table": lambda a, x: jnp.asarray(NUMBERS),
}
trees = st.recursive(
    st.sampled_from(list(ARRAYS)),
    lambda inner: st.tuples(st.sampled_from(list(STEPS)), inner, inner),
    max_leaves=4,
)


def grown(tree, a, x):
    """The array of a tree."""
    if isinstance(tree, str):
        return ARRAYS[tree](a, x)
    name, one, other = tree
    return STEPS[name](grown(one, a, x), grown(other, a, x))


@pytest.mark.thorough
@settings(max_examples=3, deadline=None)
@given(st.lists(st.tuples(trees, trees), min_size=4, max_size=4))
def test_any_arithmetic(pairs):
    """As arrays, and element by element on the way."""

    def form(pair):
        def of_arrays(a, x, k):
            one, other = (grown(tree, a, x) for tree in pair)
            return lambda r, q, i: 0.1 * one[r, q, i] + 0.2 * other[r][q, i] * r

        return of_arrays

    check([form(pair) for pair in pairs], tolerance=1e-5)


# --- loops ----------------------------------------------------------------------------------------


def loops(a, x, k):
    """Bounds of the call, rows by the index, an inner loop, and one that values end."""

    @for_loop(0, k + 1, 1)
    def layer(row):
        shifted = a[row] * x + 1
        for wire in range(WIRES):
            qml.RY(shifted[wire, 0], wire)
            qml.RZ(shifted[wire, 1] * a[row, wire, 0], wire)
            qml.RX(a[row, wire, 1] + NUMBERS[0, wire, 0], wire)

        @for_loop(0, 3, 2)
        def inner(number):
            qml.CRX((a - x)[row, 0, 1] * number, [0, 1])
            qml.RY(a[row, number // 2, 0], 1)

        inner()
        qml.CNOT([0, 1])

    @while_loop(lambda angle: angle > 0.2)
    def more(angle):
        for wire in range(WIRES):
            qml.RX(angle * a[0, wire, 0], wire)
        qml.PhaseShift(angle, 1)
        return angle * 0.5

    layer()
    more(x)
    for wire in range(WIRES):
        qml.RY(a[k, wire, 0] + x, wire)
    return qml.expval(qml.Z(0) @ qml.Y(1))


def loops_of_python(a, x, k):
    for row in range(int(k) + 1):
        shifted = a[row] * x + 1
        for wire in range(WIRES):
            qml.RY(shifted[wire, 0], wire)
            qml.RZ(shifted[wire, 1] * a[row, wire, 0], wire)
            qml.RX(a[row, wire, 1] + NUMBERS[0, wire, 0], wire)
        for number in range(0, 3, 2):
            qml.CRX((a - x)[row, 0, 1] * number, [0, 1])
            qml.RY(a[row, number // 2, 0], 1)
        qml.CNOT([0, 1])
    angle = x
    for _ in range(2):  # 0.7, 0.35
        for wire in range(WIRES):
            qml.RX(angle * a[0, wire, 0], wire)
        qml.PhaseShift(angle, 1)
        angle = angle * 0.5
    for wire in range(WIRES):
        qml.RY(a[k, wire, 0] + x, wire)
    return qml.expval(qml.Z(0) @ qml.Y(1))


@pytest.mark.sample(1)
@pytest.mark.parametrize("derivative", [jax.grad, jax.hessian])
def test_loops(derivative):
    plain = qml.QNode(loops_of_python, device(), diff_method="backprop")
    found = qjit(derivatives([qml.QNode(loops, device())], derivative))
    expected = derivatives([plain], derivative)
    for k in (0, 2) if derivative is jax.grad else (2,):
        compare(found(A, X, k), expected(A, X, k), 1e-10)


# --- structure ------------------------------------------------------------------------------------


def equations(jaxpr):
    """All equations, at any depth."""
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for part in value if isinstance(value, tuple) else (value,):
                if hasattr(part, "jaxpr"):
                    yield from equations(part.jaxpr)


def names_of_gradient(body, a):
    program = qjit(jax.grad(qml.QNode(body, device()))).trace(a).traced.program
    return [equation.primitive.name for equation in equations(program.jaxpr.jaxpr)]


ANGLES = {
    "elements": lambda a, r, q, i: 2 * a[r, q, i] + r,
    "of a sum": lambda a, r, q, i: (a + 3.0)[r, q, i],
    "of others": lambda a, r, q, i: (jnp.sin(a) * a[:1])[r, q, i],
    "in another order": lambda a, r, q, i: a[::-1, :, ::-1][r, q, i],
    "at computed places": lambda a, r, q, i: a[a[0, 0, 0].astype(int) + r, q, i],
}


@pytest.mark.parametrize("name", ANGLES)
def test_gates_written_out_are_one_vector(name):
    """Whatever comes after the sweep is the same for 9 layers as for 6."""

    def after_sweep(layers):
        def body(a):
            return rotated(layers, lambda *place: ANGLES[name](a, *place))

        names = names_of_gradient(body, jnp.ones((layers, WIRES, 2)))
        assert names.count("gate") == 5 * layers, "the circuit is there once"
        return names[names.index("sweep") :]

    assert after_sweep(6) == after_sweep(9)
    assert len(after_sweep(6)) < 50


def test_a_loop_is_undone_by_one_loop():
    """Known bounds: nothing is kept, and no size is left for run time."""

    def body(a):
        @for_loop(0, LAYERS, 1)
        def layer(row):
            shifted = a[row] + 3.0
            for wire in range(WIRES):
                qml.RY(shifted[wire, 0], wire)
                qml.RZ(a[row, wire, 1], wire)

        layer()
        return qml.expval(qml.Z(0))

    names = names_of_gradient(body, A)
    assert names.count("for_loop") == 2, "forwards and backwards"
    assert not {"tape_length", "assert_size", "select_n"} & set(names)
