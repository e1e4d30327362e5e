"""Arrays as long as a mask has Trues: each program compiled once, against NumPy at every size.

`xp` is `jax.numpy` inside of `qjit` and NumPy for the reference.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit

SIZES = (8, 0, 1, 2, 3, 100)


def table(xp, a):
    """A matrix with as many rows as `a` has elements."""
    return xp.stack([a, a * 2, a * a - 1], axis=1)


def square(xp, a):
    return a[:, None] * (a[None, :] + 1)


INDEXED = {
    "mask": lambda xp, a: a[a > 0],
    "the same mask twice": lambda xp, a: a[a > 0] * (a + 1)[a > 0] + xp.sqrt(a[a > 0]),
    "whole rank": lambda xp, a: table(xp, a)[table(xp, a) > 0.5],
    "whole rank, both sizes unknown": lambda xp, a: square(xp, a)[square(xp, a) > 0.5],
    "rows": lambda xp, a: table(xp, a)[a > 0],
    "columns": lambda xp, a: table(xp, a).T[:, a > 0],
    "new axis": lambda xp, a: table(xp, a)[None, a > 0],
    "ellipsis": lambda xp, a: square(xp, a)[..., a > 0],
    "with an integer": lambda xp, a: table(xp, a)[a > 0, 1],
    "with a slice": lambda xp, a: table(xp, a)[a > 0, ::2],
    "with a reversed slice": lambda xp, a: square(xp, a)[::-1, a > 0],
    "with positions": lambda xp, a: table(xp, a)[a > 0, xp.nonzero(a > 0)[0] % 3],
    "two masks": lambda xp, a: square(xp, a)[a > 0, a > 0],
    "apart": lambda xp, a: table(xp, a)[:, None, :][a > 0, :, 0],
    "flag": lambda xp, a: (a[a.sum() > 0], a[True], table(xp, a)[:, a.sum() > 0]),
    "in a mask": lambda xp, a: a[a > 0][a[a > 0] > 0.5],
    "constant mask": lambda xp, a: table(xp, a)[:, np.array([True, False, True])],
    "negated": lambda xp, a: xp.concatenate([a[a > 0], a[~(a > 0)]]),
}

FOUND = {
    "nonzero": lambda xp, a: (xp.nonzero(a), square(xp, a).nonzero(), (a > 0).nonzero()),
    "where": lambda xp, a: (xp.where(a > 0), xp.where(table(xp, a) > 0)),
    "flatnonzero, argwhere": lambda xp, a: (
        xp.flatnonzero(table(xp, a) > 0), xp.argwhere(table(xp, a) > 0), xp.argwhere(a.sum() > 0),
    ),
    "compress": lambda xp, a: (
        xp.compress(a > 0, a), xp.compress(a > 0, table(xp, a).T, axis=1), a.compress(a > 0),
        xp.compress((a > 0)[:2], a), xp.extract(table(xp, a) > 0, table(xp, a)),
    ),
    "mask_indices, triangles": lambda xp, a: (
        xp.mask_indices(a.shape[0], xp.triu, 1), xp.triu_indices(a.shape[0]),
        xp.tril_indices(a.shape[0], -1), xp.triu_indices(a.shape[0], 2, 5),
        xp.tril_indices(3, 1, a.shape[0]),
    ),
    "trim_zeros": lambda xp, a: [
        xp.trim_zeros(xp.where(abs(a) > 0.5, a, 0.0), ends) for ends in ("f", "b", "fb")
    ],
    "bincount": lambda xp, a: (
        xp.bincount(abs(a * 4).astype(int)), xp.bincount(xp.arange(a.shape[0]), minlength=5),
        xp.bincount(xp.arange(0)),
    ),
    "repeat": lambda xp, a: (
        xp.repeat(a, abs(a * 4).astype(int)), xp.repeat(a, 2),
        xp.repeat(table(xp, a), abs(a * 4).astype(int), axis=0), xp.repeat(a, xp.array([3])),
    ),
    "delete": lambda xp, a: (
        xp.delete(a, a > 0), xp.delete(a, slice(0, a.shape[0] // 2)),
        xp.delete(table(xp, a), slice(1, None, 2), axis=0), xp.delete(a, xp.nonzero(a > 0)[0]),
        xp.delete(a, slice(None, None, -2)), xp.delete(table(xp, a), 1, axis=1),
    ),
    "insert": lambda xp, a: (
        xp.insert(a, 0, 5.0), xp.insert(a, xp.array([0, 0]), xp.array([5.0, 6.0])),
        xp.insert(a, a.shape[0], 2.0), xp.insert(table(xp, a), 0, 7.0, axis=0),
    ),
    "split": lambda xp, a: (
        xp.array_split(a, 3), xp.split(xp.concatenate([a, a]), 2), xp.split(a, [a.shape[0] // 2]),
        xp.array_split(table(xp, a), 2, axis=0),
    ),
    "select": lambda xp, a: xp.select([a > 0, a < -0.5], [a, 2 * a], 3.0),
    "later": lambda xp, a: (
        xp.ones(xp.nonzero(a > 0)[0].shape[0]), a[a > 0] @ a[a > 0], xp.cumsum(a[a > 0]),
        xp.sort(a[a > 0])[::-1], xp.outer(a[a > 0], a) @ a, xp.sum(a > 0) * xp.ones(3),
    ),
}  # fmt: skip


def values(n):
    """Some zeros, some repeated values, both signs."""
    return np.round(np.random.default_rng(n).normal(size=100), 1)


def assert_as_numpy(program, sizes=SIZES, argument=values):
    """One compilation for all sizes; dtypes of JAX, whose integers are NumPy's in 64 bits."""
    traces = []

    @qjit
    def compiled(n, given):
        traces.append(n)
        return program(jnp, given[:n])

    for n in sizes:
        found = jax.tree.leaves(compiled(n, argument(n)))
        expected = jax.tree.leaves(program(np, argument(n)[:n]))
        for one, other in zip(found, expected, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), n
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert len(traces) == 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", INDEXED)
def test_a_mask_as_an_index(name):
    assert_as_numpy(INDEXED[name])


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FOUND)
def test_what_is_found(name):
    assert_as_numpy(FOUND[name])


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_arrays_that_are_known_to_be_empty(shape):
    functions = [
        lambda x: x[x > 0],
        lambda x: jnp.unique(x),
        lambda x: jnp.nonzero(x),
        lambda x: x.at[x > 0].set(1.0),
        lambda x: x[(x > 0).any(axis=-1)],
    ]
    x = np.zeros(shape)
    for function in functions:
        found, expected = (
            jax.tree.leaves(qjit(function)(x)),
            jax.tree.leaves(function(jnp.array(x))),
        )
        for one, other in zip(found, expected, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
