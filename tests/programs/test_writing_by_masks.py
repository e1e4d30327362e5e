"""`a.at[...]` with masks and traced bounds; sizes from data in loops, derivatives and batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import for_loop, qjit
from diastase.dynamic_shapes.errors import MappedSizeError
from diastase_runtime.errors import SizeMismatchError

A = np.array([0.5, -1.0, 2.0, 0.0, -3.0, 1.0])


def through(function):
    """The function of the first `n` elements, compiled once for all `n`."""
    return qjit(lambda n, a: function(a[:n]))


def test_writing_where_a_mask_is_true():
    written = through(
        lambda a: (
            a.at[a > 0].set(9.0), a.at[a > 0].add(a[a > 0]), a.at[a > 0].mul(2), a.at[a > 0].get(),
            a.at[a > 0].set(jnp.arange(jnp.sum(a > 0), dtype=float)), a.at[a > 0].min(0.75),
            jnp.stack([a, a], 1).at[a > 0].set(jnp.array([1.0, 2.0])),
            jnp.stack([a, a], 1).at[a > 0, 0].set(a[a > 0] + 1),
        )
    )  # fmt: skip
    for n in (6, 0, 1, 2, 3):
        a = A[:n]
        up, ranks = a > 0, np.cumsum(a > 0) - 1.0
        pairs, firsts = np.stack([a, a], 1), np.stack([a, a], 1)
        pairs[up], firsts[up, 0] = [1.0, 2.0], a[up] + 1
        expected = (
            np.where(up, 9, a), np.where(up, 2 * a, a), np.where(up, 2 * a, a), a[up],
            np.where(up, ranks, a), np.where(up, np.minimum(a, 0.75), a), pairs, firsts,
        )  # fmt: skip
        for one, other in zip(written(n, A), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_as_many_values_as_trues():
    written = qjit(lambda n, a, b: a.at[a > 0].set(b[:n]))
    np.testing.assert_array_equal(
        written(3, A, np.array([7.0, 8.0, 9.0])), [7.0, -1.0, 8.0, 0.0, -3.0, 9.0]
    )
    np.testing.assert_array_equal(written(1, A, np.ones(3)), np.where(A > 0, 1.0, A))
    for n in (0, 2):
        with pytest.raises(SizeMismatchError):
            written(n, A, np.ones(3))


def test_a_mask_must_have_the_size_of_the_axis():
    chosen = qjit(lambda n, a, mask: a[mask[:n]])
    np.testing.assert_array_equal(chosen(6, A, A > 0), A[A > 0])
    with pytest.raises(SizeMismatchError):
        chosen(5, A, A > 0)
    with pytest.raises(IndexError):
        qjit(lambda a, mask: a[mask])(A, np.ones(5, bool))


def test_bounds_that_are_traced():
    written = qjit(
        lambda n, k, a: (a[:n].at[k:].set(7.0), a[:n].at[:k].add(a[:k]), a[:n].at[::-1].set(a[:n]))
    )
    for n in (6, 0, 1, 3):
        start = A[:n].copy()
        start[2:] = 7.0
        both = A[:n].copy()
        both[:2] += A[: min(n, 2)]
        expected = start, both, A[:n][::-1]
        if n < 2:  # two values, fewer places
            with pytest.raises(SizeMismatchError):
                written(n, 2, A)
            continue
        for one, other in zip(written(n, 2, A), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_out_of_bounds():
    places = jnp.array([0, 50, -1, -200])
    function = lambda a: (  # noqa: E731
        a.at[places].get(mode="fill"), a.at[places].get(mode="clip"), a.at[places].add(1.0),
        a.at[places].set(1.0, mode="drop"), jnp.take(a, places, mode="wrap"), a[places],
    )  # fmt: skip
    for one, other in zip(through(function)(6, A), function(jnp.asarray(A)), strict=True):
        np.testing.assert_array_equal(one, other)
    nowhere = through(lambda a: (a.at[places].add(1.0), a.at[places].set(1.0, mode="clip")))
    assert [result.shape for result in nowhere(0, A)] == [(0,), (0,)]


def test_derivatives():
    compiled = through(
        lambda a: (
            jax.grad(lambda x: jnp.sum(x[x > 0] ** 2))(a),
            jax.grad(lambda x: jnp.sum(x.at[x > 0].set(x[x > 0] ** 2)))(a),
            jax.jvp(lambda x: x[x > 0] ** 2, (a,), (a,))[1],
        )
    )
    for n in (6, 0, 1, 2):
        a = A[:n]
        expected = np.where(a > 0, 2 * a, 0), np.where(a > 0, 2 * a, 1), 2 * a[a > 0] ** 2
        for one, other in zip(compiled(n, A), expected, strict=True):
            np.testing.assert_allclose(one, other)


def test_in_loops_and_branches():
    compiled = through(
        lambda a: (
            for_loop(0, 4, 1)(lambda i, x: x + jnp.sum(a[a > i - 2]))(0.0),
            for_loop(0, jnp.nonzero(a > 0)[0].shape[0], 1)(lambda i, x: x + a[i])(0.0),
            lax.cond(a.sum() > 0, lambda x: jnp.sum(x[x > 0]), lambda x: jnp.sum(x[x < 0]), a),
        )
    )
    for n in (6, 0, 1, 2):
        a = A[:n]
        in_loop = sum(np.sum(a[a > i - 2]) for i in range(4))
        branch = np.sum(a[a > 0]) if a.sum() > 0 else np.sum(a[a < 0])
        expected = in_loop, np.sum(a[: np.sum(a > 0)]), branch
        np.testing.assert_allclose(np.array(compiled(n, A)), np.array(expected))


def test_one_mask_for_each_element_of_a_batch_has_no_size():
    with pytest.raises(MappedSizeError, match="help"):
        qjit(jax.vmap(lambda a: jnp.sum(a[a > 0])))(A.reshape(2, 3))
