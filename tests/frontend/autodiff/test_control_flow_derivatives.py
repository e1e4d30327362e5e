"""Derivatives of loops and branches to second order, beside plain JAX on unrolled Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, qjit, while_loop
from diastase.primitives.errors import NoDerivativeError, NotTransformableError
from sampled import examples

X = jnp.array([0.7, 0.3, -0.4])
TABLE = np.array([2, 0, 3, 1])
CASES = {}


def case(*numbers):
    """A pair of a function of `(x, n)` and what it is in Python, for these `n`."""

    def register(functions):
        CASES[functions.__name__] = (*functions(), numbers)
        return functions

    return register


def either(flag, yes, no):
    branches = cond(flag)(yes)
    branches.otherwise(no)
    return branches


def derivatives(function):
    def of_all(x, n):
        of_x = lambda y: function(y, n)  # noqa: E731
        return (
            jax.value_and_grad(of_x)(x),
            jax.jvp(jax.grad(of_x), (x,), (x,)),
            jax.vmap(jax.grad(of_x))(jnp.stack([x, x * 0.5])),
        )

    return of_all


@case(0, 1, 2, 5)
def bound_of_an_argument():
    def loop(x, n):
        return for_loop(0, n, 1)(lambda i, v: jnp.sin(v * x[0]) + i * x[1])(x[1] * 2)

    def python(x, n):
        v = x[1] * 2
        for i in range(n):
            v = jnp.sin(v * x[0]) + i * x[1]
        return v

    return loop, python


@case(0, 1, 3)
def trips_that_differ():
    def loop(x, n):
        def outer(i, v):
            inner = for_loop(0, i, 1)(lambda j, w: jnp.sin(w * x[0]) + x[1] * j)
            return inner(v) * x[2]

        return for_loop(0, n, 1)(outer)(x[1])

    def python(x, n):
        v = x[1]
        for i in range(n):
            for j in range(i):
                v = jnp.sin(v * x[0]) + x[1] * j
            v = v * x[2]
        return v

    return loop, python


@case(-1, 0, 3)
def branch_in_while_in_for_downwards():
    def loop(x, n):
        def halve(v):
            return either(v > 1.0, lambda v: v * 0.5 * x[0], lambda v: v * x[1] ** 2)(v)

        def outer(_, v):
            return while_loop(lambda v: v > 0.1)(halve)(v + jnp.exp(x[2]))

        return for_loop(n, -1, -2)(outer)(3.0)

    def python(x, n):
        v = 3.0
        for _ in range(n, -1, -2):
            v = v + jnp.exp(x[2])
            for _ in range(8):
                next_one = jnp.where(v > 1.0, v * 0.5 * x[0], v * x[1] ** 2)
                v = jnp.where(v > 0.1, next_one, v)
        return v

    return loop, python


@case(0, 1, 4)
def loops_of_jax():
    def loop(x, n):
        v = jax.lax.fori_loop(0, n, lambda i, v: jnp.sin(v * x[0]) + i * x[1], x[2])
        state = 0, v, x
        go_on = lambda c: c[0] < n  # noqa: E731
        step = lambda c: (c[0] + 1, jnp.cos(c[1] * x[0]) + c[0] * c[2][1], c[2] * 1.5)  # noqa: E731
        return jax.lax.while_loop(go_on, step, state)[1]

    def python(x, n):
        v = x[2]
        for i in range(n):
            v = jnp.sin(v * x[0]) + i * x[1]
        y = x
        for i in range(n):
            v, y = jnp.cos(v * x[0]) + i * y[1], y * 1.5
        return v

    return loop, python


@case(0, 1, 3)
def carry_of_all_kinds():
    def loop(x, n):
        def body(_, carry):
            a, k, flag, nothing, key, z = carry
            key, here = jax.random.split(key)
            a = a * x[k % 3] + jax.random.normal(here, a.shape) * x
            return a, k + 1, ~flag, nothing, key, jnp.where(flag, z * (x[0] + 1j * x[1]), z)

        start = x * 2, 0, True, None, jax.random.key(3), 1.0 + 0.5j
        a, *_, z = for_loop(0, n, 1)(body)(start)
        return jnp.sum(a**2) + jnp.abs(z)

    def python(x, n):
        a, key, z = x * 2, jax.random.key(3), 1.0 + 0.5j
        for i in range(n):
            key, here = jax.random.split(key)
            a = a * x[i % 3] + jax.random.normal(here, a.shape) * x
            z = z * (x[0] + 1j * x[1]) if i % 2 == 0 else z
        return jnp.sum(a**2) + jnp.abs(z)

    return loop, python


@case(0, 1, 5)
def arrays_of_a_size_known_late():
    def loop(x, n):
        w = jnp.arange(n) * x[0] + 1.0

        def body(_, carry):
            p, total, v = carry
            here = w[p] * x[1] + jax.lax.dynamic_slice(w, (p,), (1,))[0] ** 2
            return p + 1, total + here, v * jnp.sin(w)

        _, total, v = for_loop(0, n, 1)(body)((0, 0.0, w))
        return total + jnp.sum(v)

    def python(x, n):
        w = jnp.arange(n) * x[0] + 1.0
        total, v = 0.0, w
        for p in range(n):
            total, v = total + w[p] * x[1] + w[p] ** 2, v * jnp.sin(w)
        return total + jnp.sum(v)

    return loop, python


@case(0, 1, 4)
def sizes_made_inside():
    def loop(x, n):
        def body(i, v):
            k = jnp.asarray(TABLE)[i % 4]
            waves = jnp.sum(jnp.sin(jnp.arange(k + 1) * x[1]))
            return v * x[0] + waves * jnp.sum(jnp.ones(i) * v)

        return for_loop(0, n, 1)(body)(x[2])

    def python(x, n):
        v = x[2]
        for i in range(n):
            k = int(TABLE[i % 4])
            waves = jnp.sum(jnp.sin(jnp.arange(k + 1) * x[1]))
            v = v * x[0] + waves * jnp.sum(jnp.ones(i) * v)
        return v

    return loop, python


@case(0, 1, 5)
def branches_in_branches():
    def loop(x, n):
        def body(i, v):
            inner = lambda v: either(i % 3 == 1, jnp.sin, lambda v: x[1] + 0 * v)(v)  # noqa: E731
            return either(i % 3 == 0, lambda v: v * x[0], inner)(v) + x[2]

        return for_loop(0, n, 1)(body)(x[1])

    def python(x, n):
        v = x[1]
        functions = [lambda v: v * x[0], jnp.sin, lambda v: x[1] + 0 * v]
        for i in range(n):
            v = functions[i % 3](v) + x[2]
        return v

    return loop, python


@case(0, 3)
def checkpoints_and_scans():
    def loop(x, n):
        step = jax.checkpoint(lambda _, v: jnp.sin(v * x[0]))
        run = jax.checkpoint(lambda v: for_loop(0, n, 1)(step)(v) * x[1])
        return jax.lax.scan(lambda v, y: (run(v) + y, None), x[2], x)[0]

    def python(x, n):
        v = x[2]
        for y in x:
            for _ in range(n):
                v = jnp.sin(v * x[0])
            v = v * x[1] + y
        return v

    return loop, python


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_first_and_second_derivatives(name):
    loop, python, numbers = CASES[name]
    compiled, plain = qjit(derivatives(loop)), jax.jit(derivatives(python), static_argnums=1)
    for n in numbers:
        found, expected = compiled(X, n), plain(X, n)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), found, expected
        )


def test_loops_that_are_known_not_to_run():
    def loops(x):
        step = lambda _, v: jnp.sin(v * x[0])  # noqa: E731
        around = lambda _, v: v * for_loop(0, 0, 1)(step)(v)  # noqa: E731
        return for_loop(3, 5, -1)(step)(x[1]), for_loop(0, 2, 1)(around)(x[2])

    first, second = qjit(jax.jacrev(loops))(X)
    np.testing.assert_array_equal(first, [0, 1, 0])
    np.testing.assert_allclose(second, [0, 0, 4 * X[2] ** 3], rtol=1e-14)


# --- random nests ---------------------------------------------------------------------------------

LEAVES = {
    "sin": lambda x, i, v: jnp.sin(v * x[0]) + x[1],
    "scale": lambda x, i, v: v * x[2] + 0.1 * i,
    "square": lambda x, i, v: 0.1 * v**2 * x[i % 3],
}


def nests():
    leaf = st.tuples(st.just("leaf"), st.sampled_from(sorted(LEAVES)))

    def around(inner):
        several = st.lists(inner, min_size=1, max_size=2)
        return st.one_of(
            st.tuples(st.just("for"), st.integers(-1, 2), st.sampled_from([1, -1, 2]), several),
            st.tuples(st.just("while"), st.integers(0, 2), several),
            st.tuples(st.just("cond"), several, several),
        )

    return st.lists(st.recursive(leaf, around, max_leaves=5), min_size=1, max_size=2)


def in_loops(program, x, n, i, v):
    """The program over traced `n` and `i`."""
    for kind, *rest in program:
        if kind == "leaf":
            v = LEAVES[rest[0]](x, i, v)
        elif kind == "for":
            more, step, inner = rest
            bounds = (0, n + more, step) if step > 0 else (i + more, -1, step)
            v = for_loop(*bounds)(lambda j, v, inner=inner: in_loops(inner, x, n, j, v))(v)
        elif kind == "while":
            more, inner = rest
            body = lambda j, v, inner=inner: (j + 1, in_loops(inner, x, n, j, v))  # noqa: E731
            v = while_loop(lambda j, v, more=more, i=i: j < i + more)(body)(0 * i, v)[1]
        else:
            yes, no = (lambda v, part=part: in_loops(part, x, n, i, v) for part in rest)
            v = either((i + n) % 2 == 0, yes, no)(v)
    return v


def in_python(program, x, n, i, v):
    """The same, unrolled."""
    for kind, *rest in program:
        if kind == "leaf":
            v = LEAVES[rest[0]](x, i, v)
        elif kind == "for":
            more, step, inner = rest
            for j in range(0, n + more, step) if step > 0 else range(i + more, -1, step):
                v = in_python(inner, x, n, j, v)
        elif kind == "while":
            more, inner = rest
            for j in range(i + more):
                v = in_python(inner, x, n, j, v)
        else:
            v = in_python(rest[(i + n) % 2], x, n, i, v)
    return v


@settings(max_examples=examples(12), deadline=None)
@given(nests())
def test_random_nests(program):
    compiled = qjit(jax.grad(lambda x, n: in_loops(program, x, n, n - 1, x[1])))
    for n in (0, 2):
        plain = jax.jit(jax.grad(lambda x, n=n: in_python(program, x, n, n - 1, x[1])))
        np.testing.assert_allclose(compiled(X, n), plain(X), rtol=1e-9, atol=1e-12)


# --- batches --------------------------------------------------------------------------------------

ROWS = jnp.array([[0.7, 0.3, -0.4], [0.1, 2.0, 3.0], [1.0, 1.0, 1.0]])


def downwards(x, n):
    return for_loop(n, 0, -1)(lambda i, v: jnp.sin(v * x[0]) + i * x[1])(x[2])


def plain_downwards(x, n):
    step = lambda k, v: jnp.where(k < n, jnp.sin(v * x[0]) + (n - k) * x[1], v)  # noqa: E731
    v = x[2]
    for k in range(4):
        v = step(k, v)
    return v


def growing(x, n):
    return while_loop(lambda v: v < 2.0 + n)(lambda v: v * (1.5 + x[0] ** 2) + 0.1)(x[1] ** 2 + 0.1)


def plain_growing(x, n):
    v = x[1] ** 2 + 0.1
    for _ in range(10):
        v = jnp.where(v < 2.0 + n, v * (1.5 + x[0] ** 2) + 0.1, v)
    return v


def branching(x, n):
    return either(n > 1, lambda v: v * x[0], lambda v: jnp.sin(v) * x[1])(x[2])


def plain_branching(x, n):
    return jnp.where(n > 1, x[2] * x[0], jnp.sin(x[2]) * x[1])


@pytest.mark.parametrize(
    ("loop", "plain"),
    [
        (downwards, plain_downwards),
        (growing, plain_growing),
        (branching, plain_branching),
    ],
)
def test_batches_of_values_bounds_and_both(loop, plain):
    def batches(function):
        def of_all(rows, numbers):
            total = lambda rows: jnp.sum(jax.vmap(function)(rows, numbers) ** 2)  # noqa: E731
            return (
                jax.vmap(function)(rows, numbers),
                jax.vmap(function, (1, None), 0)(rows.T, 2),
                jax.vmap(function, (None, 0))(rows[0], numbers),
                jax.vmap(jax.vmap(function, (0, None)), (None, 0), 1)(rows, numbers),
                jax.vmap(jax.grad(function))(rows, numbers),
                jax.vmap(jax.hessian(function))(rows, numbers),
                jax.grad(total)(rows),
            )

        return of_all

    numbers = jnp.array([0, 3, 2])
    found = qjit(batches(loop))(ROWS, numbers)
    expected = jax.jit(batches(plain))(ROWS, numbers)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), found, expected
    )


def test_batches_of_a_size_known_late_and_named_axes():
    def both(n, x):
        times = jnp.arange(n) * 1.0
        run = lambda t, x: for_loop(0, n, 1)(lambda _, v: jnp.sin(v * x[0] + t))(x[1])  # noqa: E731
        total = lambda x: jnp.sum(jax.vmap(run, (0, None))(times, x))  # noqa: E731
        shared = lambda t: for_loop(0, 3, 1)(lambda _, v: v + jax.lax.psum(v * t, "b"))(t)  # noqa: E731
        return jax.value_and_grad(total)(x), jax.vmap(shared, axis_name="b")(times)

    def plain(n, x):
        times = jnp.arange(n) * 1.0

        def total(x):
            v = jnp.full(n, x[1])
            for _ in range(n):
                v = jnp.sin(v * x[0] + times)
            return jnp.sum(v)

        v = times
        for _ in range(3):
            v = v + jnp.sum(v * times)
        return jax.value_and_grad(total)(x), v

    compiled = qjit(both)
    for n in (0, 1, 4):
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12),
            compiled(n, X),
            plain(n, X),
        )


# --- circuits -------------------------------------------------------------------------------------


def test_derivative_of_gradient_descent_through_its_steps():
    def body(x):
        qml.RX(x[0], 0)
        qml.RY(x[1], 1)
        qml.CNOT([0, 1])
        qml.RX(x[2] * x[1], 1)
        return qml.expval(qml.Z(1))

    device = qml.device("default.qubit", wires=2)
    node = qml.QNode(body, device)
    by_backprop = qml.QNode(body, device, diff_method="backprop")

    def descent(x, n):
        return node(for_loop(0, n, 1)(lambda _, y: y - 0.2 * jax.grad(node)(y) * x[0])(x))

    def unrolled(x, n):
        y = x
        for _ in range(n):
            y = y - 0.2 * jax.grad(by_backprop)(y) * x[0]
        return by_backprop(y)

    compiled = qjit(jax.grad(descent))
    for n in (0, 2):
        plain = jax.jit(jax.grad(lambda x, n=n: unrolled(x, n)))
        np.testing.assert_allclose(compiled(X, n), plain(X), atol=1e-12)


# --- what is refused ------------------------------------------------------------------------------


def test_loops_that_change_sizes_are_refused_in_reverse():
    def grows(x):
        @for_loop(0, 3, 1, allow_array_resizing=True)
        def loop(_, v):
            return jnp.concatenate([v, v[:1] * x[0]])

        return jnp.sum(loop(x))

    with pytest.raises(NotTransformableError, match="changes the size of an array"):
        qjit(jax.grad(grows))(X)


def test_loops_of_values_and_derivatives_in_a_rule_by_hand_are_refused():
    @jax.custom_jvp
    def cube(x):
        return x**3

    @cube.defjvp
    def _(primals, tangents):
        run = lambda x: for_loop(0, 3, 1)(lambda _, v: v * x)(1.0)  # noqa: E731
        return jax.jvp(run, primals, tangents)

    with pytest.raises(NotTransformableError, match="one loop"):
        qjit(jax.grad(cube))(2.0)


# --- what the backward pass does ------------------------------------------------------------------


def equations_of(jaxpr, name):
    """All equations of this name, at any depth."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if equation.primitive.name == name:
            yield equation
        for value in equation.params.values():
            if hasattr(value, "jaxpr") or hasattr(value, "eqns"):
                yield from equations_of(value, name)


def test_a_loop_over_an_array_adds_to_one_element_of_its_gradient():
    def total(w, x, table):
        def body(i, carry):
            p, t = carry
            return p + 1, t + x[p] * jnp.sin(w[i]) + w[p] * w[-1 - i] + table[i, p] ** 2

        return for_loop(0, w.shape[0], 1)(body)((0, 0.0))[1]

    def plain(w, x, table):
        return jnp.sum(x * jnp.sin(w) + w * w[::-1]) + jnp.sum(jnp.diagonal(table) ** 2)

    gradients = jax.grad(total, (0, 1, 2))
    compiled = qjit(gradients)
    for size in (1, 2, 7):
        w, x, table = jnp.linspace(0, 1, size), jnp.linspace(1, 2, size), jnp.ones((size, size))
        expected = jax.grad(plain, (0, 1, 2))(w, x, table)
        for mine, theirs in zip(compiled(w, x, table), expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    inside = [
        equation
        for loop in equations_of(compiled.trace(w, x, table).traced.program.jaxpr, "for_loop")
        for equation in equations_of(loop.params["body_jaxpr"], "broadcast_in_dim")
    ]
    assert inside
    sizes = [size for equation in inside for size in equation.outvars[0].aval.shape]
    assert all(size == 1 for size in sizes), "an array of zeros each time"


def test_a_linear_loop_is_not_run_forwards_for_its_gradient():
    def linear(x, n):
        return for_loop(0, n, 1)(lambda _, v: v * 2.0 + x)(x)

    compiled = qjit(jax.grad(linear))
    assert [float(compiled(0.5, n)) for n in (0, 1, 3)] == [1.0, 3.0, 15.0]
    shapes = [
        variable.aval.shape
        for loop in equations_of(compiled.trace(0.5, 3).traced.program.jaxpr, "for_loop")
        for variable in loop.outvars
    ]
    assert shapes
    assert all(shape == () for shape in shapes), "nothing is kept"


@pytest.mark.parametrize("around", [lambda f: f, jax.checkpoint], ids=["plain", "checkpoint"])
@pytest.mark.parametrize("derivative", [jax.grad, jax.jacfwd])
def test_samples_carried_as_integers_are_refused(derivative, around):
    @qml.qnode(qml.device("default.qubit", wires=1), shots=10)
    def outcomes(x):
        qml.RX(x, 0)
        return qml.sample(wires=0)

    def counted(x):
        return for_loop(0, 3, 1)(lambda _, so_far: so_far + jnp.sum(outcomes(x)))(0)

    def total(x):
        return around(counted)(x).astype(float)

    with pytest.raises(NoDerivativeError, match="samples jump"):
        qjit(derivative(total))(0.3)
