"""Gathers and scatters read the columns that index vectors were put together of."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import qjit

jax.config.update("jax_enable_x64", True)

PLACES = {
    "inside": ([0, 2, 3, 1], [1, 0, 4, 4]),
    "outside": ([-7, 2, 9, -1], [5, -6, 0, 100]),
    "empty": ([], []),
}


def bilinear(x, i, j):
    return 0.5 * x[i, j] + 0.25 * x[i + 1, j] + x[i, j + 1] * x[i + 1, j + 1]


def updates(x, i, j):
    return x.at[i, j].add(1.5), x.at[j, i].set(x[0, 0])


def three_axes(x, i, j):
    cube = x[:, :, None] * jnp.arange(3.0)
    clipped = cube.at[i, j, 1].multiply(3, mode="clip")
    return cube[i, j, j], cube[i, :, j], cube.at[i, j, 1].multiply(3), clipped


def vectors_elsewhere(x, i, j):
    """The index vectors are the first axis of the indices, and one part has two components."""
    numbers = lax.GatherDimensionNumbers((), (0, 1), (0, 1))
    pairs = jnp.stack([i, j], axis=1)
    wide = jnp.concatenate([pairs, i[:, None]], axis=1)[:, :2]
    return [lax.gather(x, y, numbers, (1, 1), mode="clip") for y in (pairs, wide)]


def derivative(x, i, j):
    return jax.grad(lambda x: (bilinear(x, i, j) ** 2).sum())(x)


@pytest.mark.sample(3)
@pytest.mark.parametrize("function", [bilinear, updates, three_axes, vectors_elsewhere, derivative])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint32])
def test_results_are_those_of_jax(function, places, dtype):
    x = np.linspace(-1.0, 1.0, 20).reshape(4, 5)
    i, j = (np.array(numbers).astype(dtype) for numbers in PLACES[places])
    expected = jax.jit(function)(x, i, j)
    for axes in (None, ({}, {0: "n"}, {0: "n"})):
        compiled = qjit(function, abstracted_axes=axes) if axes else qjit(function)
        for found, right in zip(
            jax.tree.leaves(compiled(x, i, j)), jax.tree.leaves(expected), strict=True
        ):
            np.testing.assert_allclose(found, right, rtol=1e-12)


@pytest.mark.parametrize("function", [bilinear, updates])
def test_no_array_of_index_vectors_is_made(function):
    i = np.arange(4)
    text = qjit(function).lower(np.ones((6, 6)), i, i).as_text("bufferize")
    assert "x2xi" not in text
