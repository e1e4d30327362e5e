"""JAX's transformations around compiled classical functions, beside plain JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit

X = jnp.array([1.0, 2.0, 3.0])
Y = 2.5


def function(x, y):
    return jnp.sin(x) * y + x**2


def scalar(x, y):
    return jnp.sum(function(x, y))


def loop(f):
    return lambda x: jax.lax.scan(lambda c, v: (0.1 * f(c, v), c), x, jnp.arange(4.0))


TRANSFORMATIONS = {
    "jit": lambda f, _: jax.jit(f)(X, Y),
    "jit of jit": lambda f, _: jax.jit(lambda x: jax.jit(f)(x, Y) + f(x, 1.0))(X),
    "grad": lambda _, s: jax.grad(s)(X, Y),
    "jit of grad by both": lambda _, s: jax.jit(jax.grad(s, (0, 1)))(X, Y),
    "grad of jit of vmap": lambda f, _: jax.grad(
        lambda x: jax.jit(jax.vmap(f, (0, None)))(x, Y).sum()
    )(X),
    "value_and_grad": lambda _, s: jax.value_and_grad(s)(X, Y),
    "jacfwd": lambda f, _: jax.jacfwd(f, (0, 1))(X, Y),
    "jacrev": lambda f, _: jax.jacrev(f, (0, 1))(X, Y),
    "jacobian of one": lambda f, _: jax.jacobian(f, 1)(X, Y),
    "hessian": lambda _, s: jax.hessian(s, (0, 1))(X, Y),
    "jit of hessian": lambda _, s: jax.jit(jax.hessian(s, (0, 1)))(X, Y),
    "third": lambda f, _: jax.grad(jax.grad(jax.grad(f)))(1.5, Y),
    "fourth, mixed": lambda f, _: jax.jacfwd(jax.grad(jax.jacfwd(jax.grad(f))))(1.5, Y),
    "jvp": lambda f, _: jax.jvp(f, (X, Y), (X, 1.0)),
    "vjp": lambda f, _: jax.vjp(f, X, Y)[1](X),
    "linearize": lambda f, _: jax.linearize(f, X, Y)[1](X, 1.0),
    "transpose of a batch of a linear part": lambda f, _: jax.linear_transpose(
        jax.vmap(jax.linearize(lambda x: f(x, Y), X)[1]), jnp.ones((4, 3))
    )(jnp.ones((4, 3))),
    "transpose, the batch last": lambda f, _: jax.linear_transpose(
        jax.vmap(jax.linearize(lambda x: f(x, Y), X)[1], in_axes=1, out_axes=1), jnp.ones((3, 4))
    )(jnp.ones((3, 4))),
    "transpose of a batch of points": lambda f, _: jax.linear_transpose(
        lambda v: jax.vmap(lambda x: jax.jvp(lambda x: f(x, Y), (x,), (v,))[1])(X), 1.0
    )(X),
    "vmap": lambda f, _: jax.vmap(f, (0, None))(X, Y),
    "vmap of vmap": lambda f, _: jax.vmap(jax.vmap(f, (0, None)), (None, 0))(X, X),
    "vmap along the last axis": lambda f, _: jax.vmap(f, (1, 0), 1)(jnp.outer(X, X[:2]), X[:2]),
    "vmap of grad": lambda f, _: jax.vmap(jax.grad(f), (0, None))(X, Y),
    "grad of vmap": lambda f, _: jax.grad(lambda x: jax.vmap(f, (0, None))(x, Y).sum())(X),
    "grad of vmap of jvp": lambda f, _: jax.grad(
        lambda x: jax.vmap(lambda v: jax.jvp(f, (x, Y), (v, 1.0))[1])(jnp.eye(3)).sum()
    )(X),
    "scan": lambda f, _: loop(f)(X),
    "grad of scan": lambda f, _: jax.jit(jax.grad(lambda x: loop(f)(x)[0].sum()))(X),
    "fori_loop": lambda f, _: jax.lax.fori_loop(0, 3, lambda i, c: f(c, i * 0.1), X),
    "while_loop": lambda f, _: jax.lax.while_loop(lambda c: c[0] < 9, lambda c: f(c, Y), X),
    "cond": lambda f, _: jax.jit(lambda b: jax.lax.cond(b, lambda: f(X, Y), lambda: X))(True),
    "checkpoint": lambda _, s: jax.jit(jax.grad(jax.checkpoint(s)))(X, Y),
    "no elements": lambda f, _: jax.jit(jax.jacrev(f))(jnp.zeros((0,)), Y),
}


@pytest.fixture(scope="module")
def compiled():
    return qjit(function), qjit(scalar)


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations(compiled, name):
    transformation = TRANSFORMATIONS[name]
    found, expected = transformation(*compiled), transformation(function, scalar)
    jax.tree.map(
        lambda left, right: np.testing.assert_allclose(left, right, rtol=1e-10),
        found,
        expected,
    )
    types = [jax.tree.map(jax.typeof, result) for result in (found, expected)]
    strong = [jax.tree.map(lambda aval: (aval.shape, aval.dtype), each) for each in types]
    assert strong[0] == strong[1]


def test_all_kinds_of_arguments_and_results():
    def many(tree, *, factor):
        return {
            "integer": tree["integer"] + 1,
            "truth": ~tree["truth"],
            "empty": tree["empty"] * 1j,
            "single": tree["array"].astype(jnp.float32) * factor,
            "none": None,
            "half": (tree["half"] * 2, tree["brain"] * 2),
            "same": (tree["array"], tree["array"]),
        }

    tree = {
        "integer": jnp.int32(3),
        "truth": jnp.array([True, False]),
        "empty": jnp.ones((2, 0, 3)),
        "array": jnp.arange(4.0),
        "half": jnp.ones(3, jnp.float16),
        "brain": jnp.ones(3, jnp.bfloat16),
    }
    found = jax.jit(qjit(many))(tree, factor=2)
    expected = jax.jit(many)(tree, factor=2)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for left, right in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (left.dtype, left.weak_type) == (right.dtype, right.weak_type)
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("around", [lambda f: f, jax.jit])
def test_derivatives_and_batches_are_as_weak_as_jaxs(around):
    """As `tests/source_fuzz` found them: strong, so what they met was promoted otherwise."""

    def types(compile_with):
        def f(x, k):
            return x * x + 2 * k

        def beside(x, k):
            return k, 2.0 / k, x

        f, beside = compile_with(f), compile_with(beside)
        calls = [
            lambda x, k: jax.vmap(beside, (0, None))(jnp.array([x, x]), k),
            jax.value_and_grad(f),
            jax.grad(jax.grad(f)),
            jax.jacfwd(f),
            lambda x, k: jax.jvp(f, (x, k), (x, k)),
        ]
        leaves = [leaf for call in calls for leaf in jax.tree.leaves(around(call)(2.0, 3.0))]
        return [(leaf.shape, leaf.dtype, leaf.weak_type) for leaf in leaves]

    assert types(qjit) == types(jax.jit)


def test_keys_of_random_generators():
    def draws(key):
        return jax.random.normal(key, (2,)), jax.random.split(key)

    key = jax.random.key(3)
    numbers, keys = jax.jit(qjit(draws))(key)
    expected, expected_keys = draws(key)
    np.testing.assert_allclose(numbers, expected)
    assert jnp.all(keys == expected_keys)
    batch = jax.vmap(qjit(draws))(keys)
    np.testing.assert_allclose(batch[0], jax.vmap(draws)(keys)[0])


def test_static_arguments_keywords_and_defaults():
    @qjit(static_argnums=1, static_argnames="kind")
    def f(x, n, kind="times", *, offset=0.0):
        return (x * n if kind == "times" else x**n) + offset

    assert jax.grad(f)(2.0, 3) == 3.0
    assert jax.grad(f)(2.0, 3, kind="power") == 12.0
    assert jax.jit(lambda x, o: f(x, 3, offset=o))(2.0, 1.0) == 7.0


def test_integers_booleans_and_auxiliary_results():
    @qjit
    def f(n, flag, x):
        return jnp.where(flag, n * x, -x), {"twice": 2 * n}

    (value, aux), gradient = jax.value_and_grad(f, argnums=2, has_aux=True)(3, True, 2.0)
    assert (value, aux["twice"], gradient) == (6.0, 6, 3.0)
    number, slope = jax.grad(lambda n, x: f(n, True, x)[0], (0, 1), allow_int=True)(3, 2.0)
    assert (number.dtype, slope) == (jax.dtypes.float0, 3.0)


def test_complex_functions():
    def f(z):
        return jnp.exp(z) * z

    z = 1.0 + 2.0j
    found = jax.grad(qjit(f), holomorphic=True)(z)
    np.testing.assert_allclose(found, jax.grad(f, holomorphic=True)(z))
    found = jax.grad(lambda z: jnp.abs(qjit(f)(z)))(z)
    np.testing.assert_allclose(found, jax.grad(lambda z: jnp.abs(f(z)))(z))


def test_single_precision_where_double_is_off():
    with jax.enable_x64(False):
        f = qjit(lambda x: jnp.sin(x) * 2)
        value, gradient = jax.jit(jax.value_and_grad(f))(0.5)
        assert value.dtype == gradient.dtype == jnp.float32
        np.testing.assert_allclose([value, gradient], [2 * np.sin(0.5), 2 * np.cos(0.5)], rtol=1e-6)


def test_methods_and_declared_types():
    class Model:
        def __init__(self, power):
            self.power = power

        @qjit
        def energy(self, x):
            return x**self.power

    assert jax.grad(Model(3).energy)(2.0) == 12.0

    @qjit
    def declared(x: float, n: int):
        return x * n

    assert jax.grad(declared)(2.0, 3) == 3.0
    assert jax.jit(declared)(2.0, n=3) == 6.0


def test_numpys_arrays_beside_tracers():
    f = qjit(lambda x, y: jnp.sum(x * y))
    found = jax.grad(lambda x: f(x, np.array([1.0, 2.0, 3.0])))(X)
    np.testing.assert_array_equal(found, [1.0, 2.0, 3.0])


def test_linear_algebra_and_sizes_from_values():
    @qjit
    def f(a, n):
        return jnp.linalg.solve(a, jnp.ones(3)).sum() + jnp.sum(jnp.arange(n) * a[0, 0])

    def plain(a, n):
        return jnp.linalg.solve(a, jnp.ones(3)).sum() + n * (n - 1) / 2 * a[0, 0]

    a = jnp.eye(3) + 0.1 * jnp.arange(9.0).reshape(3, 3)
    for n in (0, 1, 7):
        found = jax.jit(jax.value_and_grad(f))(a, n)
        expected = jax.value_and_grad(plain)(a, float(n))
        jax.tree.map(np.testing.assert_allclose, found, expected)


def test_axes_with_names():
    def centred(x):
        return (x - jax.lax.pmean(x, "batch")) ** 2

    for f in (centred, qjit(centred)):
        batch = jax.vmap(f, axis_name="batch")
        np.testing.assert_allclose(batch(X), [1.0, 0.0, 1.0])
        np.testing.assert_allclose(jax.grad(lambda x, b=batch: b(x).sum())(X), [-2.0, 0.0, 2.0])
