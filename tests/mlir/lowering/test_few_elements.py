"""What is reduced along an axis of a few arrays or elements is combined one after the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit

jax.config.update("jax_enable_x64", True)


def _stacks(x):
    return [
        jnp.stack([x, x * x, x + 1], 0),
        jnp.concatenate([x[None], 2 - x[None]], 0),
        jnp.stack([x, -x, x, x + 2], -1),
    ]


def _reduced(x):
    for array, axis in zip(_stacks(x), (0, 0, -1), strict=True):
        yield from (array.sum(axis), array.max(axis), array.min(axis), array.prod(axis))
        yield from (jnp.argmax(array, axis), jnp.argmin(array, axis), (array > 0).any(axis))
        yield from (jnp.isnan(array).all(axis), jnp.argmax(array > 0, axis), array.mean(axis))


def _chosen(x):
    return jnp.select([x < -1, x < 0, jnp.isnan(x)], [x, x * x, jnp.zeros_like(x)], 7)


@pytest.mark.sample(8)
@pytest.mark.parametrize("shape", [(), (5,), (4, 3), (0, 3)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool"])
def test_as_jax_does(shape: tuple[int, ...], dtype: str) -> None:
    def program(x):
        return [*_reduced(x), _chosen(x)]

    x = np.random.default_rng(0).normal(size=shape) * 3
    if dtype == "float64" and x.size:
        x.flat[0] = np.nan
    x = x.astype(dtype)
    if dtype == "bool":
        x = x.astype("int8")
    for ours, theirs in zip(qjit(program)(x), jax.jit(program)(x), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("axis", [0, 1])
def test_places_of_extremes(size: int, axis: int) -> None:
    rng = np.random.default_rng(size)
    x = rng.integers(0, 3, (size, 50)).astype(float)
    x[rng.uniform(size=x.shape) < 0.2] = np.nan
    x = np.moveaxis(x, 0, axis)
    for function in (jnp.argmax, jnp.argmin):
        np.testing.assert_array_equal(
            qjit(lambda x, function=function: function(x, axis))(x), function(x, axis)
        )


def test_sizes_known_at_run_time() -> None:
    @qjit(abstracted_axes={0: "n"})
    def program(x):
        return [*_reduced(x), _chosen(x), jnp.argmax(jnp.stack([x, x], 1).reshape(-1, 2), 1)]

    for size in (0, 1, 100):
        x = np.random.default_rng(size).normal(size=size)
        expected = [*_reduced(x), _chosen(x), np.zeros(size)]
        for ours, theirs in zip(program(x), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_stack_that_is_reduced_is_not_made() -> None:
    def reduced(x):
        stack = jnp.stack([x, x * x, x + 1])
        return jnp.argmax(stack, 0), stack.sum(0)

    def made(x):
        stack = jnp.stack([x, x * x, x + 1])
        return jnp.argmax(stack, 0), stack

    x = np.linspace(-3, 3, 700)
    for function, elements in ((reduced, False), (made, True)):
        program = qjit(function)
        program(x)
        assert ("2100" in program.mlir_opt) == elements
