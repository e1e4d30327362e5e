"""Programs over symbolic sizes, compiled once and run at several, compared with plain JAX.

The shapes are JAX's own symbolic ones; `n` and `m` are sizes of arguments. Sizes 0 and 1 are
included wherever plain JAX takes them.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase_mlir import DimensionBindings, Program

SIZES = (0, 1, 2, 5)
POSITIVE = (1, 2, 5)
ODD = (3, 5, 8)


def vector(size, dtype="float64"):
    numbers = np.random.default_rng(size).normal(size=size) * 3
    return numbers.astype(dtype)


def matrix(rows, columns, dtype="float64"):
    return vector(rows * columns, dtype).reshape(rows, columns)


VECTOR = {
    "elementwise": (lambda a: jnp.sin(a) * 2 + jnp.abs(a) ** 1.5, SIZES),
    "types": (lambda a: (a.astype("int32"), a.astype("uint8"), a > 0, a.astype(complex)), SIZES),
    "broadcast": (lambda a: a[:, None] * a[None, :] + a, SIZES),
    "broadcast_to": (lambda a: jnp.broadcast_to(a, (3, a.shape[0])), SIZES),
    "size": (lambda a: (a.shape[0], a * a.shape[0]), SIZES),
    "sum": (lambda a: (a.sum(), jnp.all(a > 0)), SIZES),
    "mean": (lambda a: (a.mean(), jnp.var(a)), POSITIVE),
    "extremes": (lambda a: (a.max(), a.min(), jnp.argmax(a), jnp.argmin(a)), POSITIVE),
    "ones": (lambda a: jnp.ones((a.shape[0], 2)), SIZES),
    "arange": (lambda a: jnp.arange(a.shape[0]) * a, SIZES),
    "eye": (lambda a: jnp.eye(a.shape[0]), SIZES),
    "concatenate": (lambda a: jnp.concatenate([a, a * 2, jnp.ones(3)]), SIZES),
    "stack": (lambda a: jnp.stack([a, a + 1], axis=1), SIZES),
    "reverse": (lambda a: a[::-1], SIZES),
    "reshape": (lambda a: a.reshape(1, -1, 1), SIZES),
    "pad": (lambda a: jnp.pad(a, (1, 2), constant_values=7.0), SIZES),
    "slice": (lambda a: (a[1:], a[:-1]), POSITIVE),
    "slice_step": (lambda a: a[::2], POSITIVE),
    "dynamic_slice": (lambda a: lax.dynamic_slice(a, (a.shape[0] - 1,), (1,)), POSITIVE),
    "update_slice": (lambda a: lax.dynamic_update_slice(a, jnp.ones(1), (2,)), POSITIVE),
    "roll": (lambda a: jnp.roll(a, 1), POSITIVE),
    "tile": (lambda a: jnp.tile(a, 2), SIZES),
    "where": (lambda a: jnp.where(a > 0, a, -a), SIZES),
    "gather": (lambda a: a[jnp.arange(a.shape[0])[::-1]], POSITIVE),
    "take_out_of_range": (lambda a: jnp.take(a, jnp.array([0, 9, -1])), POSITIVE),
    "set": (lambda a: a.at[-1].set(3.0), POSITIVE),
    "add_all": (lambda a: a.at[jnp.arange(a.shape[0]) // 2].add(1.0), POSITIVE),
    "sort": (lambda a: (jnp.sort(a), jnp.argsort(-a)), SIZES),
    "cumulative": (lambda a: (jnp.cumsum(a), jnp.cumprod(a), lax.cummax(a)), SIZES),
    "cumlogsumexp": (lax.cumlogsumexp, SIZES),
    "logsumexp": (jax.scipy.special.logsumexp, POSITIVE),
    "softmax": (jax.nn.softmax, POSITIVE),
    "dot": (lambda a: (a @ a, jnp.outer(a, a)), SIZES),
    "fft": (jnp.fft.fft, POSITIVE),
    "reduce_precision": (lambda a: lax.reduce_precision(a, 8, 7), SIZES),
    "bitcast": (lambda a: lax.bitcast_convert_type(a, "int64"), SIZES),
    "top_k": (lambda a: lax.top_k(jnp.concatenate([a, jnp.ones(2)]), 2), SIZES),
    "window": (lambda a: lax.reduce_window(a, 0.0, lax.add, (2,), (1,), "VALID"), ODD),
    "convolve": (lambda a: lax.conv(a[None, None], jnp.ones((1, 1, 2)), (1,), "VALID"), ODD),
    "grad": (jax.grad(lambda a: (jnp.sin(a) * a).sum()), SIZES),
    "jacobian": (jax.jacobian(lambda a: a**2), POSITIVE),
    "vmap": (jax.vmap(lambda x: jnp.exp(x) + x), SIZES),
    "fori": (lambda a: lax.fori_loop(0, a.shape[0], lambda i, s: s + a[i] * i, 0.0), POSITIVE),
    "fori_set": (lambda a: lax.fori_loop(0, 2, lambda i, s: s.at[i].add(1.0), a), POSITIVE),
    "while": (lambda a: lax.while_loop(lambda c: c.sum() < 50, lambda c: c * c + 1, a), POSITIVE),
    "scan": (lambda a: lax.scan(lambda c, x: (c + x, c * x), 0.0, a), SIZES),
    "scan_arrays": (lambda a: lax.scan(lambda c, x: (c + x, c), a, a), SIZES),
    "cond": (lambda a: lax.cond(a.sum() > 0, lambda: a * 2, lambda: -a), SIZES),
    "shape_in_loop": (
        lambda a: lax.fori_loop(0, 3, lambda i, s: s + jnp.ones(a.shape[0]) * i, a),
        SIZES,
    ),
    "vmapped_while": (
        jax.vmap(lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * 2 + 1, jnp.abs(x))),
        SIZES,
    ),
    "random": (lambda a: jax.random.uniform(jax.random.key(1), a.shape), POSITIVE),
    "callback": (
        lambda a: jax.pure_callback(
            lambda x: np.asarray(x) * 2, jax.ShapeDtypeStruct(a.shape, a.dtype), a
        ),
        SIZES,
    ),
    "identity": (lambda a: a, SIZES),
    "twice": (lambda a: (a, a), SIZES),
}

MATRIX = {
    "sums": (lambda a: (a.sum(0), a.sum(1), a.sum(1, keepdims=True) + a), SIZES),
    "transpose": (lambda a: (a.T, a.T.ravel()), SIZES),
    "reshape": (lambda a: a.reshape(a.shape[1], a.shape[0]), SIZES),
    "flatten": (lambda a: a.reshape(-1), SIZES),
    "matmul": (lambda a: (a @ a.T, a.T @ a), SIZES),
    "argmax": (lambda a: jnp.argmax(a, axis=1), POSITIVE),
    "cumsum": (lambda a: (jnp.cumsum(a, axis=0), jnp.cumsum(a[::-1], axis=1)), SIZES),
    "sort": (lambda a: (jnp.sort(a, axis=0), jnp.sort(a, axis=1)), SIZES),
    "row": (lambda a: (a[0], a[-1], a[:, 0]), POSITIVE),
    "set_row": (lambda a: a.at[0].set(jnp.ones(a.shape[1])), POSITIVE),
    "set_column": (lambda a: a.at[:, -1].multiply(2.0), POSITIVE),
    "tril": (jnp.tril, SIZES),
    "concatenate": (lambda a: jnp.concatenate([a, a], axis=1), SIZES),
    "flip": (lambda a: a[::-1, ::-1], SIZES),
    "einsum": (lambda a: jnp.einsum("ij,kj->ik", a, a), SIZES),
    "scan_rows": (lambda a: lax.scan(lambda c, r: (c + r.sum(), r * c), 0.0, a), SIZES),
    "map": (lambda a: lax.map(lambda r: r / (1 + jnp.abs(r).sum()), a), SIZES),
    "softmax": (lambda a: jax.nn.softmax(a, axis=1), POSITIVE),
    "qr": (lambda a: jnp.abs(lax.linalg.qr(a, full_matrices=False)[1]), POSITIVE),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", VECTOR)
def test_vector(compare_dynamic, name):
    function, sizes = VECTOR[name]
    compare_dynamic(function, [("float64", "n")], [[vector(size)] for size in sizes])


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MATRIX)
def test_matrix(compare_dynamic, name):
    function, sizes = MATRIX[name]
    arguments = [[matrix(size, size + 1)] for size in sizes]
    compare_dynamic(function, [("float64", "n, m")], arguments)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "complex64", "int8", "uint8", "uint64", "bool"]
)
def test_element_types(compare_dynamic, dtype):
    def function(a):
        return a[::-1], jnp.concatenate([a, a]), a[:, None] == a, jnp.where(a == a, a, a)

    numbers = np.array([3, 1, 2, 200, 5]).astype(jnp.dtype(dtype))
    compare_dynamic(function, [(dtype, "n")], [[numbers[:size]] for size in SIZES])


def test_solve(compare_dynamic):
    arguments = [[matrix(size, size) + 5 * np.eye(size)] for size in POSITIVE]
    compare_dynamic(lambda a: jnp.linalg.inv(a), [("float64", "n, n")], arguments)


def test_two_arguments(compare_dynamic):
    arguments = [[matrix(2, size), matrix(size, 3), vector(3)] for size in SIZES]
    specs = [("float64", "n, m"), ("float64", "m, k"), ("float64", "k")]
    compare_dynamic(lambda a, b, v: a @ b + v, specs, arguments)


def test_size_that_is_a_value(compile_program):
    """A symbol bound to an argument's value, not to an axis."""
    (size,) = jax.export.symbolic_shape("d")
    jaxpr = jax.make_jaxpr(lambda n: (jnp.arange(size) * n, jnp.ones((size, 2)).sum()))(3)
    bindings = DimensionBindings(values={jaxpr.jaxpr.invars[0]: ("d",)})
    compiled = compile_program(Program("sized", jaxpr, bindings))
    for number in (0, 1, 4):
        positions, total = compiled(np.int64(number))
        np.testing.assert_array_equal(positions, np.arange(number) * number)
        assert total == 2.0 * number


def test_negative_value_counts_as_empty(compile_program):
    """Tracing records a check before; memory is safe without it."""
    (size,) = jax.export.symbolic_shape("d")
    jaxpr = jax.make_jaxpr(lambda n: jnp.ones((size, 2)).at[0].set(n))(3)
    bindings = DimensionBindings(values={jaxpr.jaxpr.invars[0]: ("d",)})
    compiled = compile_program(Program("negative", jaxpr, bindings))
    assert compiled(np.int64(-2))[0].shape == (0, 2)
