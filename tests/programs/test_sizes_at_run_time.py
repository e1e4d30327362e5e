"""Programs of a traced size, run at several sizes, compared with plain JAX at each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import for_loop, qjit

PROGRAMS = {
    "searchsorted": lambda n: (
        jnp.searchsorted(jnp.arange(n), 3),
        jnp.searchsorted(jnp.arange(n), jnp.array([0, 2, 9]), side="right"),
        jnp.digitize(jnp.arange(n), jnp.arange(3)),
    ),
    "roll": lambda n: (jnp.roll(jnp.arange(n), 1), jnp.roll(jnp.arange(n), -2)),
    "scan": lambda n: lax.scan(lambda c, x: (c + x, c * x), 0, jnp.arange(n), reverse=True),
    "sort": lambda n: (jnp.sort(jnp.arange(n) * 7 % 5), jnp.argsort(jnp.arange(n) * 7 % 5)),
    "slices": lambda n: (jnp.arange(n)[1:], jnp.arange(n)[::-1], jnp.arange(10)[n:]),
    "concatenate": lambda n: jnp.concatenate([jnp.ones(n), jnp.arange(3.0), jnp.zeros(n)]),
    "reshape": lambda n: jnp.arange(n * 6).reshape(6, n),
    "cumsum": lambda n: jnp.cumsum(jnp.ones((n, 2)), axis=0),
    "for_loop": lambda n: for_loop(0, 4, 1)(lambda i, x: x + i)(jnp.ones(n)),
    "while": lambda n: lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + c[1][::-1]), (0, jnp.arange(n))
    ),
    "derivative": lambda n: jax.grad(lambda x: (x**2).sum())(jnp.arange(n, dtype=float)),
    "linear algebra": lambda n: jnp.linalg.solve(jnp.eye(n) * 2, jnp.ones(n)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_jax(name):
    function = PROGRAMS[name]
    compiled = qjit(function)
    for n in (0, 1, 2, 5):
        found, expected = jax.tree.leaves(compiled(n)), jax.tree.leaves(function(n))
        for one, other in zip(found, expected, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_has_the_order_of_sort(dtype, side):
    """NaNs come last; NumPy, which orders them alike, is the reference."""
    values = np.array([2, np.nan, -np.inf, 0, np.inf, -0.0, np.nan, 2]).astype(dtype)
    if np.iscomplexobj(values):
        values.imag = [1, 0, 2, -1, 0, -1, 3, -5]
    compiled = qjit(
        lambda x, v: jnp.searchsorted(jnp.sort(x), v, side=side), abstracted_axes=(("n",), ())
    )
    for size in (8, 1, 0, 5):
        expected = np.searchsorted(np.sort(values[:size]), values, side=side)
        np.testing.assert_array_equal(compiled(values[:size], values), expected)
