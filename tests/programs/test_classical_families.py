"""Families of JAX's functions through the whole of `qjit`: values, dtypes and weak types of JAX.

The layers below are tested operation by operation; here, what users call goes through our overlays
of JAX's tracing, too.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import qjit

X = jnp.arange(6.0)
A = jnp.arange(9.0).reshape(3, 3) % 4 + jnp.eye(3) * 5
WIDE = jnp.array([1e20, -1e20, jnp.nan, jnp.inf, -jnp.inf, 3.9, -3.9])


@jax.custom_jvp
def with_own_derivative(x):
    return jnp.sin(x)


with_own_derivative.defjvp(lambda primals, tangents: (jnp.sin(primals[0]), tangents[0] * 7))


@jax.custom_vjp
def with_own_gradient(x, y):
    return x * y


with_own_gradient.defvjp(lambda x, y: (x * y, (x, y)), lambda r, g: (g * 5, g * r[0]))

FAMILIES = {
    "pooling": lambda x, a: (
        lax.reduce_window(a, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID"),
        lax.reduce_window(a, 0.0, lax.add, (2, 2), (1, 1), "SAME"),
    ),
    "convolution": lambda x, a: (
        jnp.convolve(x, x[:3], "same"),
        lax.conv(jnp.ones((1, 2, 4, 4)) + x[:4], jnp.ones((3, 2, 2, 2)), (1, 1), "SAME"),
    ),
    "positions outside": lambda x, a: (
        a[jnp.array([5, -7])],
        jnp.take(a, jnp.array([5, -7]), axis=0, mode="wrap"),
        jnp.take(a, jnp.array([5, -7]), axis=0, mode="fill"),
        lax.dynamic_slice(x, (9,), (3,)),
        lax.dynamic_update_slice(x, x[:2], (-2,)),
        x.at[jnp.array([1, 1, 9])].add(2.0),
        lax.switch(9, [lambda: 1, lambda: 2]),
        lax.switch(-9, [lambda: 1, lambda: 2]),
    ),
    "decompositions": lambda x, a: (
        jnp.linalg.qr(a), jnp.linalg.eigh(a @ a.T), jnp.linalg.svd(a), jax.scipy.linalg.lu(a),
        jnp.linalg.cholesky(a @ a.T), jnp.linalg.lstsq(a, x[:3]), jax.scipy.linalg.expm(a / 9),
    ),
    "spectra": lambda x, a: (
        jnp.fft.fft(x), jnp.fft.irfft(x), jnp.fft.fft2(a), jnp.fft.fft(x, n=9), jnp.fft.fftfreq(5)
    ),
    "derivatives": lambda x, a: (
        jax.hessian(lambda v: (v**3).sum() * v[0])(x),
        jax.jacfwd(jnp.sin)(x), jax.jacrev(lambda v: jnp.sort(-v) * v)(x),
        jax.grad(jax.checkpoint(lambda v: jnp.sin(jnp.sin(v)).sum()))(x),
        jax.grad(lambda v: lax.scan(lambda c, y: (c * y + v, c), v, x)[0])(x[2]),
        jax.grad(with_own_derivative)(x[1]),
        jax.grad(with_own_gradient, (0, 1))(x[2], x[3]),
        jax.grad(lambda m: jnp.linalg.inv(m).sum())(a),
    ),
    "mapped control flow": lambda x, a: (
        jax.vmap(lambda n: lax.while_loop(lambda c: c < n, lambda c: c * 2 + 1, 0.0))(x),
        jax.vmap(lambda n: lax.cond(n > 2, lambda n: n * 2, lambda n: n, n))(x),
        jax.vmap(lambda n: lax.switch(n, [lambda: 1, lambda: 2, lambda: 3]))(x.astype(int) - 1),
        jax.vmap(lambda y: lax.scan(lambda c, v: (c + v * y, c), 0.0, x, reverse=True))(x),
        jax.vmap(lambda v: v / lax.psum(v, "i"), axis_name="i")(x),
    ),
    "scans": lambda x, a: (
        lax.scan(lambda c, v: (c + v, c * v), 0.0, x, unroll=4),
        lax.scan(lambda c, _: (c + 1, None), 0, None, length=4),
        lax.scan(lambda c, v: (c, v), 0, jnp.zeros((0, 2))),
        lax.associative_scan(lambda p, q: p * q + 1, x, reverse=True),
        lax.map(lambda v: v * 2, x, batch_size=4),
    ),
    "division": lambda x, a: (
        jnp.array([5, -5, 0]) // (x[0].astype(int)), jnp.array([5, -5]) % (x[0].astype(int)),
        (jnp.array([-(2**63)]) + x[0].astype(int)) // -1,
        jnp.array([5.0, -5.0, 0.0]) / x[0], jnp.array([7.0, -7.0]) % -3.0,
        jnp.divmod(jnp.array([7, -7]), -3),
    ),
    "conversions": lambda x, a: [
        (WIDE + x[0]).astype(t) for t in (jnp.int8, jnp.uint8, jnp.int32, jnp.uint64, bool)
    ],
    "promotion": lambda x, a: (
        jnp.int8(100) + 100, jnp.uint8(3) - jnp.uint8(5), jnp.float16(1) + jnp.int32(3),
        1 + jnp.bfloat16(2), jnp.float32(1) * 1j, jnp.uint32(3) + jnp.int32(-5),
        jnp.uint64(3) + jnp.int64(-5), jnp.where(x[0] > 1, 1, 2.0), 2, 2.5, True,
    ),
    "empty arrays": lambda x, a: (
        jnp.zeros((0, 3)).sum(0), jnp.zeros((3, 0)) @ jnp.zeros((0, 2)), jnp.sort(x[:0]),
        jnp.cumsum(x[:0]), jnp.all(x[:0] > 0), jnp.linalg.inv(jnp.zeros((0, 0))),
    ),
    "sorting": lambda x, a: (
        jnp.sort(jnp.array([jnp.nan, 0.0, -0.0, jnp.inf, -1.0]) * x[1]),
        jnp.argsort(a.ravel() % 3, descending=True), jnp.lexsort((x, -x // 2)),
        lax.top_k(a, 2), jnp.unique(a, size=4, return_inverse=True, return_counts=True),
        jnp.searchsorted(x, jnp.array([jnp.nan, -1, 2.5])), jnp.nonzero(x > 2, size=4),
    ),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FAMILIES)
def test_as_plain_jax(name):
    function = FAMILIES[name]
    found, expected = qjit(function)(X, A), jax.jit(function)(X, A)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        described = [(v.shape, v.dtype, v.weak_type) for v in (one, other)]
        assert described[0] == described[1]
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
