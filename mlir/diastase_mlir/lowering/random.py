"""Rules for random numbers: `threefry2x32`, the generator behind JAX's default keys, its counters.

JAX's rule for the generator on the CPU loops over rounds with arrays as carries, which costs an
array per round; the unrolled form fuses into one pass.
"""

import math
from collections.abc import Sequence

import jax
import numpy as np
from jax import lax

from diastase_mlir.emit.operations import (
    binary,
    create,
    index_binary,
    integer_type,
    scalar_constant,
)
from diastase_mlir.emit.tensors import as_index, generate
from diastase_mlir.jax_internals import ir, threefry2x32
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.registry import Equation, lowers


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
    if all(isinstance(size, int) for size in shape) and math.prod(shape) <= 2**32:
        return context.lower_function(lambda: _counts(shape), [], [])
    sizes = [context.size(size) for size in equation.avals_out[0].shape]
    word, wide = integer_type(32), integer_type(64)

    def number(position: list[ir.Value]) -> ir.Value:
        total = position[0]
        for size, index in zip(sizes[1:], position[1:], strict=True):
            total = index_binary("addi", index_binary("muli", total, as_index(size)), index)
        return create("arith.index_cast", [wide], [total]).result

    def upper(position: list[ir.Value]) -> ir.Value:
        shifted = binary("arith.shrui", number(position), scalar_constant(wide, 32))
        return create("arith.trunci", [word], [shifted]).result

    def lower(position: list[ir.Value]) -> ir.Value:
        return create("arith.trunci", [word], [number(position)]).result

    return [generate(sizes, word, upper), generate(sizes, word, lower)]


def _counts(shape: Sequence[int]) -> tuple[jax.Array, jax.Array]:
    """The two words, of which the upper one is 0."""
    word = np.uint32
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    numbers = [
        lax.broadcasted_iota(word, shape, axis) * word(stride)
        for axis, stride in enumerate(strides)
        if shape[axis] > 1
    ]
    zeros = lax.full(shape, 0, word)
    return zeros, sum(numbers[1:], start=numbers[0]) if numbers else zeros
