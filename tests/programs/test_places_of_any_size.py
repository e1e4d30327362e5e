"""Slices, diagonals, grids, positions along axes of any size: against NumPy, compiled once.

`xp` is `jax.numpy` inside of `qjit` and NumPy for the reference; `k` is 2, traced there.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit


def rows(xp, a):
    return xp.stack([a, a * 2, a * a - 1], axis=1)


def square(xp, a):
    return a[:, None] * (a[None, :] + 1)


PROGRAMS = {
    "backwards": lambda xp, a, k: (
        a[::-1], a[::-2], a[5::-2], a[:2:-1], a[-1:-4:-1], a[a.shape[0]:0:-2], a[-2::-3],
        a[k::-1], a[:k:-2], a[k:-k:-1], a[a.shape[0] // 2::-1],
    ),
    "traced steps": lambda xp, a, k: (
        a[::k], a[::-k], a[1::k], a[:3:-k], a[k:100:k], a[k - 3::2],
        square(xp, a)[::k, None, ::2], square(xp, a)[k:, ::-1],
    ),
    "take": lambda xp, a, k: (
        xp.take(a, xp.arange(a.shape[0])[::-1]), xp.take(rows(xp, a), xp.array([0, 2]), axis=1),
        xp.take_along_axis(rows(xp, a), xp.argsort(rows(xp, a), axis=0), axis=0),
        xp.take(a, xp.arange(a.shape[0]) + k, mode="wrap"),
    ),
    "diagonals": lambda xp, a, k: (
        xp.diag(a), xp.diag(a, 1), xp.diag(square(xp, a)), xp.diag(square(xp, a), -1),
        xp.diagonal(square(xp, a), 1), xp.diagonal(rows(xp, a)), xp.trace(square(xp, a)),
        xp.diag_indices(a.shape[0]), xp.diag_indices(k, 3),
    ),
    "triangles": lambda xp, a, k: (
        xp.triu(square(xp, a)), xp.tril(rows(xp, a), -1), xp.tri(a.shape[0], 3, 1, dtype=float),
    ),
    "flattened": lambda xp, a, k: (
        xp.unravel_index(xp.arange(a.shape[0]), (a.shape[0] + 1, 2)),
        xp.ravel_multi_index((xp.arange(a.shape[0]), xp.arange(a.shape[0])),
                             (a.shape[0], a.shape[0] + 2)),
        xp.ravel_multi_index((xp.arange(a.shape[0]),) * 2, (2, 3), mode="wrap", order="F"),
        xp.ravel_multi_index((xp.arange(a.shape[0]),) * 2, (a.shape[0] + 1, 3), mode="clip"),
    ),
    "grids": lambda xp, a, k: (
        xp.indices((a.shape[0], 2)), xp.indices((k, a.shape[0]), sparse=True),
        xp.mgrid[0:a.shape[0], 0:3], xp.ogrid[0:k:1, 0:a.shape[0]],
        square(xp, a)[xp.ix_(xp.arange(a.shape[0])[::-1], xp.arange(a.shape[0])[::2])],
    ),
    "moved": lambda xp, a, k: (
        xp.roll(a, k), xp.roll(a, -k), xp.roll(rows(xp, a), k, axis=0), xp.roll(square(xp, a), 3),
        xp.roll(square(xp, a), (k, -1), axis=(0, 1)), xp.flip(square(xp, a)), xp.rot90(rows(xp, a)),
        xp.rot90(square(xp, a), 2), xp.swapaxes(rows(xp, a), 0, 1), xp.squeeze(a[:, None], axis=1),
    ),
    "choices": lambda xp, a, k: (
        xp.choose((a > 0).astype(int), [a, -a]),
        xp.choose((a * 3).astype(int), [a, -a, a * 2], mode="clip"),
        xp.choose((a * 3).astype(int), [a, -a, a * 2], mode="wrap"),
        xp.resize(a, (5,)), xp.resize(a, (a.shape[0], 2)),
    ),
}  # fmt: skip


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_numpy(name):
    function, traces = PROGRAMS[name], []

    @qjit
    def compiled(n, given, k):
        traces.append(n)
        return function(jnp, given[:n], k)

    for n in (8, 0, 1, 2, 3, 100):
        given = np.round(np.random.default_rng(n).normal(size=100), 1)
        found = jax.tree.leaves(compiled(n, given, 2))
        for one, other in zip(found, jax.tree.leaves(function(np, given[:n], 2)), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), n
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert len(traces) == 1


def test_put_and_fill_diagonal():
    def function(a, b):
        positions = jnp.array([0, 7])
        return (
            jnp.put(a, jnp.arange(a.shape[0]), a * 2, inplace=False),
            jnp.put(a, positions, b, mode="clip", inplace=False),
            jnp.put(a, positions, b, mode="wrap", inplace=False),
            jnp.put(a, positions, b, inplace=False),
            jnp.place(a, a > 0, jnp.array([1.0, 2.0, 3.0]), inplace=False),
            jnp.fill_diagonal(square(jnp, a), 5.0, inplace=False),
            jnp.fill_diagonal(square(jnp, a), jnp.array([1.0, 2.0]), inplace=False),
        )

    traces = []

    @qjit
    def compiled(n, a, b):
        traces.append(n)
        return function(a[:n], b)

    a, b = np.array([0.5, -1.0, 2.0, 1.0]), np.array([9.0, 8.0])
    for n in (3, 0, 1, 2):
        for one, other in zip(compiled(n, a, b), function(jnp.asarray(a[:n]), b), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_array_equal(one, other)
    assert len(traces) == 1


PARTS = {
    "columns": lambda w, n: w[:, :n],
    "rows and columns": lambda w, n: w[: n - 1, :n],
    "middle axis": lambda w, n: jnp.stack([w, w + 1])[:, : n - 1],
    "last axis": lambda w, n: jnp.stack([w, w + 1])[:, :, :n],
    "before a known axis": lambda w, n: jnp.stack([w, w + 1], axis=2)[:, :n],
    "a row": lambda w, n: w[0, :n],
    "carried": lambda w, n: jax.lax.fori_loop(0, 2, lambda i, c: w[:, :n], jnp.zeros((n, n))),
    "branches": lambda w, n: jax.lax.cond(n > 2, lambda: w[:, :n], lambda: w[:, 2:]),
    "of factors": lambda w, n: jax.scipy.linalg.lu(jnp.sin(w * w + 1))[1],
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_from_the_start_have_gaps_between_their_rows(name):
    """A view at place 0 was taken for an array without gaps where it is a result."""

    def part(n):
        return PARTS[name](jnp.arange(n * (n + 2) * 1.0).reshape(n, n + 2), n)

    compiled = qjit(part)
    for n in (3, 2, 5):
        np.testing.assert_allclose(compiled(n), part(n), rtol=1e-12)


def test_a_step_of_zero():
    with pytest.raises(ValueError, match="size 0 where 1 is needed"):
        qjit(lambda k, a: a[::k])(0, np.ones(3))
