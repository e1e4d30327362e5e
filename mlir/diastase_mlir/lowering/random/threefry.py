"""Rules for random numbers: `threefry2x32`, the generator behind JAX's default keys, its counters.

JAX's rule for the generator on the CPU loops over rounds with arrays as carries, which costs an
array per round; the unrolled form fuses into one pass.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from diastase_mlir.jax_compat import ir, threefry2x32
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers


@lowers("threefry2x32")
def lower_threefry2x32(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Twenty rounds on pairs of words, elementwise."""
    return context.lower_function(threefry2x32, equation.avals_in, operands)


@lowers("iota_2x32_shape")
def lower_iota_2x32_shape(context: LoweringContext, equation: Equation) -> list[ir.Value]:
    """The number of each element in row-major order, in two words: upper and lower bits."""
    shape = equation.avals_out[0].shape
    return context.lower_function(lambda: _counts(shape), [], [])


def _counts(shape: Sequence[Any]) -> tuple[jax.Array, jax.Array]:
    """The two words."""
    if all(isinstance(size, int) for size in shape) and math.prod(shape) <= 2**32:
        return lax.full(shape, 0, np.uint32), _numbers(shape, np.uint32)
    numbers = _numbers(shape, np.uint64)
    return (numbers >> np.uint64(32)).astype(np.uint32), numbers.astype(np.uint32)


def _numbers(shape: Sequence[Any], word: Any) -> jax.Array:
    """The number of each element in row-major order."""
    terms = [
        lax.broadcasted_iota(word, shape, axis)
        * lax.convert_element_type(math.prod(shape[axis + 1 :]), word)
        for axis, size in enumerate(shape)
        if not isinstance(size, int) or size > 1
    ]
    return sum(terms[1:], start=terms[0]) if terms else lax.full(shape, 0, word)
