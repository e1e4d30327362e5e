"""`pure_callback`, `accelerate` and `debug_assert` beside plain JAX and Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import accelerate, debug_assert, for_loop, grad, pure_callback, qjit, vmap


@pure_callback
def product(x) -> float:
    return np.sin(x[0]) * x[1]


@product.fwd
def _(x):
    return product(x), x


@product.bwd
def _(x, dy):
    def pulled(x, dy) -> (jax.ShapeDtypeStruct((2,), jnp.float64),):
        return (np.array([np.cos(x[0]) * dy * x[1], np.sin(x[0]) * dy]),)

    return pure_callback(pulled)(x, dy)


POINT = jnp.array([0.1, 0.2])


def test_one_cotangent_needs_no_tuple():
    square = pure_callback(lambda x: x**2, float)
    square.fwd(lambda x: (square(x), x))
    square.bwd(lambda x, cotangent: 2 * x * cotangent)
    assert qjit(grad(square))(3.0) == 6.0


def scaled(x, factor=2.0) -> float:
    return np.sin(x) * factor


@pytest.mark.parametrize("call", [lambda f, x: f(x), lambda f, x: f(x, factor=2.0)])
def test_a_derivative_has_the_arguments_of_the_call_without_defaults(call):
    function = pure_callback(scaled)
    function.fwd(lambda x, **others: (function(x, **others), x))
    function.bwd(lambda x, cotangent: 2 * jnp.cos(x) * cotangent)
    np.testing.assert_allclose(qjit(grad(lambda x: call(function, x)))(0.3), 2 * np.cos(0.3))


def test_a_traced_argument_by_keyword_has_a_derivative():
    function = pure_callback(scaled)
    function.fwd(lambda x, factor: (function(x, factor), (x, factor)))
    function.bwd(lambda known, c: (known[1] * jnp.cos(known[0]) * c, jnp.sin(known[0]) * c))
    found = qjit(grad(lambda x: function(x, factor=x**2)))(0.3)
    np.testing.assert_allclose(found, jax.grad(lambda x: jnp.sin(x) * x**2)(0.3))


def weighted(a, b=2.0, c=3.0):
    return a * b * c**2


KEYWORDS = {
    "after one left out": (weighted, lambda f, y: f(2.0, c=y * 2.0), ["a", "c"]),
    "in another order": (weighted, lambda f, y: f(c=y, b=3 * y, a=y**2), ["a", "b", "c"]),
    "with one that is known": (weighted, lambda f, y: f(y, c=y**2, b=3.0), ["a", "c"]),
    "keywords only": (lambda a, *, c: a * c, lambda f, y: f(y, c=y**2), ["a", "c"]),
    "any": (lambda **all: all["a"] * all["c"], lambda f, y: f(a=y, c=y**2), ["a", "c"]),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_traced_keywords_of_any_kind_have_derivatives(name):
    function, call, differentiated = KEYWORDS[name]
    found = pure_callback(function, float)

    def forward(*args, **kwargs):
        known = dict(zip(("a", "b", "c"), args, strict=False)) | kwargs
        return found(*args, **kwargs), known

    def backward(known, cotangent):
        slopes = jax.grad(lambda chosen: function(**{**known, **chosen}))(
            {name: known[name] for name in differentiated}
        )
        return tuple(slopes[name] * cotangent for name in differentiated)

    found.fwd(forward)
    found.bwd(backward)
    expected = jax.grad(lambda y: call(function, y))(0.7)
    np.testing.assert_allclose(qjit(grad(lambda y: call(found, y)))(0.7), expected)
    np.testing.assert_allclose(jax.grad(lambda y: call(found, y))(0.7), expected)


def test_traced_keywords_of_a_function_without_a_signature():
    found = pure_callback(dict, {"a": float})
    found.fwd(lambda a: (found(a=a), None))
    found.bwd(lambda _, cotangent: cotangent["a"])
    assert qjit(grad(lambda y: found(a=3 * y)["a"]))(0.7) == 3.0


@pytest.mark.parametrize("types", [(float, jnp.float32), {"a": int, "b": [bool, complex]}])
def test_types_of_results_are_arguments_or_annotations_of_any_pytree(types):
    leaves, tree = jax.tree.flatten(types)

    def give(x):
        return tree.unflatten([np.dtype(leaf).type(x) for leaf in leaves])

    found = qjit(pure_callback(give, types))(1.0)
    expected = jax.tree.map(lambda leaf: jnp.asarray(1, leaf), types)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    assert [leaf.dtype for leaf in jax.tree.leaves(found)] == list(map(np.dtype, leaves))
    give.__annotations__["return"] = types
    jax.tree.map(np.testing.assert_array_equal, qjit(pure_callback(give))(1.0), expected)
    assert pure_callback(give)(1.0) == give(1.0)


def test_a_derivative_given_by_hand_serves_grad_inside_around_and_without_qjit():
    def f(x):
        return jnp.sin(product(jnp.array([jnp.cos(x[0]), x[1]])))

    def reference(x):
        return jnp.sin(jnp.sin(jnp.cos(x[0])) * x[1])

    expected = jax.grad(reference)(POINT)
    for found in (qjit(grad(f)), jax.jit(jax.grad(qjit(f))), jax.grad(f)):
        np.testing.assert_allclose(found(POINT), expected, rtol=1e-12)
    points = jnp.stack([POINT, 2 * POINT])
    np.testing.assert_allclose(qjit(vmap(f))(points), jax.vmap(reference)(points), rtol=1e-12)


def test_callbacks_of_sizes_known_at_run_time_in_loops_and_circuits():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(angles):
        @for_loop(0, angles.shape[0], 1)
        def loop(i):
            shape = jax.ShapeDtypeStruct(angles.shape, float)
            qml.RX(pure_callback(np.sort, shape)(angles)[i], wires=0)

        loop()
        return qml.expval(qml.Z(0))

    compiled = qjit(circuit, abstracted_axes=("n",))
    for angles in (jnp.array([0.3, 0.1]), jnp.array([0.2, 0.1, 0.3])):
        np.testing.assert_allclose(compiled(angles), np.cos(angles.sum()), rtol=1e-12)


def cubes(x):
    return {"sum": jnp.sum(x**3), "all": jnp.cumsum(x) * x}


def test_accelerated_functions_are_those_of_jax_and_so_are_their_derivatives():
    device = jax.devices("cpu")[0]
    fast = accelerate(dev=device)(cubes)
    x = jnp.array([0.5, 1.5, -1.0])

    def transforms(f):
        def total(x):
            results = f(x)
            return results["sum"] + results["all"].sum()

        return {
            "value": f,
            "grad": jax.grad(total),
            "hessian": jax.hessian(total),
            "jvp": lambda x: jax.jvp(total, (x,), (x,)),
            "batch": lambda x: jax.vmap(f)(jnp.stack([x, 2 * x])),
            "closure": lambda x: accelerate(lambda y: y * x)(x) if f is fast else x * x,
        }

    reference = transforms(cubes)
    for name, function in transforms(fast).items():
        jax.tree.map(np.testing.assert_allclose, qjit(function)(x), reference[name](x))
    np.testing.assert_allclose(fast(x)["sum"], cubes(x)["sum"])
    slope = qjit(grad(lambda x: fast(x)["sum"]), abstracted_axes=("n",))
    for size in (2, 4):
        np.testing.assert_allclose(slope(jnp.ones(size)), 3 * np.ones(size))


def test_accelerated_functions_may_be_part_of_each_other_and_know_sizes():
    sine = accelerate(jnp.sin)

    @qjit
    def f(count):
        return accelerate(lambda x: sine(x) * x.shape[0])(jnp.ones(count))

    np.testing.assert_allclose(f(3), 3 * np.sin(np.ones(3)))


def test_assertions_are_checked_when_the_program_runs_unless_they_are_disabled():
    def f(x):
        debug_assert(x < 5, "too large")
        return x * 8

    with pytest.raises(RuntimeError, match="too large"):
        f(6.0)
    compiled = qjit(f)
    assert float(compiled(4.0)) == 32
    with pytest.raises(RuntimeError, match="too large"):
        compiled(6.0)
    assert float(qjit(f, disable_assertions=True)(6.0)) == 48
    for transformed, x in ((jax.jit(f), 6.0), (jax.grad(f), 6.0), (jax.vmap(f), jnp.arange(7.0))):
        with pytest.raises(RuntimeError, match=r"(?s)too large.*test_values.py:"):
            jax.block_until_ready(transformed(x))
        transformed(x / 10)
    assert jax.jit(lambda: [debug_assert(True, "a constant"), 3][1])() == 3
    assert float(qjit(grad(f))(4.0)) == 8
    with pytest.raises(RuntimeError, match="too large"):
        qjit(vmap(f))(jnp.arange(7.0))
    with pytest.raises(RuntimeError, match="too large"):
        qjit(grad(f))(6.0)


def test_memrefs_are_printed_with_sizes_and_strides(capsys):
    qjit(diastase.debug.print_memref)(jnp.arange(6.0).reshape(2, 3))
    said = capsys.readouterr().out
    assert "rank = 2 offset = 0 sizes = [2, 3] strides = [3, 1] data =" in said
    assert said.endswith("data =\n[[0.,  1.,  2.],\n [3.,  4.,  5.]]\n")
    diastase.debug.print_memref(3)
    assert capsys.readouterr().out == "3\n"
