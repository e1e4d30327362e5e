"""bfloat16 survives conversions bit by bit, and programs on which LLVM's own type aborted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit

EVERY_BIT_PATTERN = np.arange(65536, dtype=np.uint16).view(jnp.bfloat16.dtype)


def assert_same_bits(found, expected):
    """Equal bits, whatever the kind of NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    with np.errstate(invalid="ignore"):  # signalling NaNs
        is_nan, found_nan = (np.isnan(array.astype(np.float64)) for array in (expected, found))
    np.testing.assert_array_equal(found_nan, is_nan)
    unsigned = f"uint{expected.dtype.itemsize * 8}"
    np.testing.assert_array_equal(found.view(unsigned)[~is_nan], expected.view(unsigned)[~is_nan])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint16"])
def test_every_number_converted(dtype):
    found = qjit(lambda x: x.astype(dtype))(EVERY_BIT_PATTERN)
    if np.dtype(dtype).kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            assert_same_bits(found, EVERY_BIT_PATTERN.astype(dtype))
    else:
        np.testing.assert_array_equal(found, jnp.asarray(EVERY_BIT_PATTERN).astype(dtype))


def test_rounding_of_single_precision():
    halves = (np.arange(65536, dtype=np.uint32) << 16) + 0x8000
    numbers = np.concatenate([halves, halves - 1, halves + 1]).view(np.float32)
    found = qjit(lambda x: x.astype(jnp.bfloat16))(numbers)
    with np.errstate(invalid="ignore"):
        assert_same_bits(found, numbers.astype(jnp.bfloat16.dtype))


FUNCTIONS = {
    "spacing": jnp.spacing,
    "compared": lambda x: (x < x[::-1], x == x, jnp.isnan(x), jnp.signbit(x)),
    "rounded": lambda x: (jnp.floor(x), jnp.ceil(x), jnp.round(x), jnp.trunc(x), jnp.abs(x), -x),
    "chosen": lambda x: (jnp.maximum(x, 2), jnp.minimum(x, x[::-1]), jnp.clip(x, -1, 1)),
    "sorted": lambda x: (jnp.sort(x[:300]), jnp.argmax(x[:300])),
    "infinities": lambda x: jnp.where(x == jnp.copysign(jnp.inf, x), jnp.nan_to_num(x), x),
    "arithmetic": lambda x: (x + x[::-1], x * x[::-1], x - 1, x / x[::-1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function = FUNCTIONS[name]
    bits = np.arange(65536, dtype=np.uint16)
    exponent = bits >> 7 & 0xFF
    # XLA takes subnormal numbers for zero; differences and products of these are none.
    numbers = EVERY_BIT_PATTERN[(bits & 0x7FFF == 0) | ((exponent > 80) & (exponent < 180))]
    numbers = np.concatenate([numbers, EVERY_BIT_PATTERN[[0x7F80, 0xFF80, 0x7FC0]]])
    found, expected = qjit(function)(numbers), jax.jit(function)(numbers)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if one.dtype == jnp.bfloat16:
            assert_same_bits(one, other)
        else:
            np.testing.assert_array_equal(one, other)
