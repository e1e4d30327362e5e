"""Rules for reductions: where they are over nothing or few arrays, and for positions of extremes.

Sums and the like need no rule of ours (StableHLO's `reduce` converts), except over no axes at all,
and along an axis that was made by laying a few arrays side by side: what is combined are the arrays
then, element by element, and the array that they would make need not be.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.errors import LoweringError
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_complex, is_known_empty
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers
from diastase_mlir.lowering.elementwise.moves import full, stacked
from diastase_mlir.lowering.tensor.windows import identity_of


@lowers(
    "reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_or", "reduce_and",
    "reduce_xor",
)  # fmt: skip
def lower_reduce(
    context: LoweringContext, equation: Equation, operand: ir.Value, *_rest: ir.Value
) -> list[ir.Value]:
    """Over no axes or few arrays, or of nothing; others are left to JAX's rule."""
    axes = equation.params["axes"]
    if not len(axes):
        return [operand]
    (aval,), (result,) = equation.avals_in[:1], equation.avals_out
    name = equation.primitive.name
    parts = stacked(operand, axes[0]) if len(axes) == 1 else None
    if parts is not None and len(parts) <= FEW:
        combine = _ELEMENTWISE[name]
        return context.lower_function(
            lambda *arrays: (reduce(combine, arrays),), [result] * len(parts), parts
        )
    if not is_known_empty(aval) or (is_complex(aval.dtype) and name in _EXTREMES):
        return NotImplemented
    neutral = np.array(_neutral(equation, result.dtype)).astype(result.dtype)
    return [full(context, context.constant(neutral), result)]


FEW = 8
"""Arrays, or elements of a row, that are combined one after the other, in registers."""
_ELEMENTWISE: dict[str, Callable[[Any, Any], Any]] = {
    "reduce_sum": lax.add, "reduce_prod": lax.mul, "reduce_max": lax.max, "reduce_min": lax.min,
    "reduce_or": lax.bitwise_or, "reduce_and": lax.bitwise_and, "reduce_xor": lax.bitwise_xor,
}  # fmt: skip
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
    Of a few elements: one comparison after the other.
    """
    aval = equation.avals_in[0]
    if is_complex(aval.dtype):
        name = f"{equation.primitive.name} of {aval.dtype}"
        raise LoweringError(primitive=name, reason="complex numbers have no order")
    (axis,) = equation.params["axes"]
    wanted = np.dtype(equation.params["index_dtype"])
    size = aval.shape[axis]
    if isinstance(size, int) and 0 < size <= FEW:
        return _place_among_few(context, equation, operand, axis)
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


def _place_among_few(
    context: LoweringContext, equation: Equation, operand: ir.Value, axis: int
) -> list[ir.Value]:
    (aval,), (result,) = equation.avals_in, equation.avals_out
    is_better = lax.gt if equation.primitive.name == "argmax" else lax.lt
    parts = stacked(operand, axis)

    def place(*arrays: Any) -> tuple[Any, ...]:
        if parts is None:
            (whole,) = arrays
            arrays = tuple(
                lax.index_in_dim(whole, number, axis, keepdims=False)
                for number in range(aval.shape[axis])
            )
        best, found = arrays[0], lax.full_like(arrays[0], 0, result.dtype)
        for number, array in enumerate(arrays[1:], start=1):
            better = is_better(array, best)
            if jnp.issubdtype(aval.dtype, jnp.floating):
                better |= (array != array) & (best == best)
            best = lax.select(better, array, best)
            found = lax.select(better, lax.full_like(found, number), found)
        return (found,)

    if parts is None:
        return context.lower_function(place, [aval], [operand])
    return context.lower_function(place, [result.update(dtype=aval.dtype)] * len(parts), parts)


_BEYOND = np.iinfo(np.int32).max
