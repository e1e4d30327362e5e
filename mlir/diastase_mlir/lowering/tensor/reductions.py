"""Rules for reductions: where they are over nothing, and for positions of extremes.

Sums and the like need no rule of ours (StableHLO's `reduce` converts), except over no axes at all.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_complex, is_known_empty
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers
from diastase_mlir.lowering.elementwise.moves import full
from diastase_mlir.lowering.tensor.windows import identity_of


@lowers(
    "reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_or", "reduce_and",
    "reduce_xor",
)  # fmt: skip
def lower_reduce(
    context: LoweringContext, equation: Equation, operand: ir.Value, *_rest: ir.Value
) -> list[ir.Value]:
    """Over no axes, or of an array known to be empty; others are left to JAX's rule."""
    if not len(equation.params["axes"]):
        return [operand]
    (aval,), (result,) = equation.avals_in[:1], equation.avals_out
    name = equation.primitive.name
    if not is_known_empty(aval) or (is_complex(aval.dtype) and name in _EXTREMES):
        return NotImplemented
    neutral = np.array(_neutral(equation, result.dtype)).astype(result.dtype)
    return [full(context, context.constant(neutral), result)]


_EXTREMES = ("reduce_max", "reduce_min")


def _neutral(equation: Equation, dtype: Any) -> Any:
    """What the reduction of nothing gives."""
    kind = equation.primitive.name.removeprefix("reduce_")
    if equation.primitive.name in _EXTREMES:
        return identity_of(equation.primitive.name, dtype)
    return {"prod": 1, "and": -1}.get(kind, 0)


@lowers("reduce")
def lower_generic_reduce(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Of arrays known to be empty: the initial values; others are left to JAX's rule."""
    count = len(operands) // 2
    if not is_known_empty(equation.avals_in[0]) or not equation.params["dimensions"]:
        return NotImplemented
    return [
        full(context, initial, aval)
        for aval, initial in zip(equation.avals_out, operands[count:], strict=True)
    ]


@lowers("argmax", "argmin")
def lower_argument_of_extreme(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """The first position of the largest (smallest) element; a NaN counts as both.

    Two reductions, as vectors and threads can share them: the extreme, and the least of its places.
    """
    aval = equation.avals_in[0]
    if is_complex(aval.dtype):
        return NotImplemented
    (axis,) = equation.params["axes"]
    wanted = np.dtype(equation.params["index_dtype"])
    size = aval.shape[axis]
    short = isinstance(size, int) and size < _BEYOND
    # Wide enough for `_BEYOND` to be no position, and as narrow as can be.
    counted = np.dtype(np.int32) if short or wanted.itemsize < 4 else wanted
    beyond = np.array(np.iinfo(counted).max, counted)
    extreme = lax.reduce_max if equation.primitive.name == "argmax" else lax.reduce_min

    def places(array: Any) -> tuple[Any, ...]:
        best = lax.expand_dims(extreme(array, (axis,)), (axis,))
        found = (array == best) | (array != array)
        place = lax.broadcasted_iota(counted, array.shape, axis)
        first = lax.reduce_min(jnp.where(found, place, beyond), (axis,))
        return (first.astype(wanted),)

    return context.lower_function(places, [aval], [operand])


_BEYOND = np.iinfo(np.int32).max
