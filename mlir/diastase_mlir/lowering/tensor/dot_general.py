"""Rule for `dot_general`: products of two arrays, summed over the axes that are contracted.

Those with sums are StableHLO's (`passes/arrays_to_loops/products`). Those without are elementwise
products of arrays that are broadcast; JAX's rule gives a contraction that adds each product to an
array of zeros, which MLIR's fusion takes for elementwise arithmetic and repeats wherever the result
is broadcast: `einsum("i,j,k->ijk", …)` would add up too often.

Products are taken in the type of the result, or in that of the operands where it holds more.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.emit.library_calls import is_for_blas
from diastase_mlir.emit.operations import create
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import whole_bytes
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers

_PRESETS = lax.DotAlgorithmPreset
_ALGORITHMS = frozenset(
    {_PRESETS.DEFAULT, _PRESETS.F16_F16_F16, _PRESETS.F32_F32_F32, _PRESETS.F64_F64_F64}
    | {_PRESETS.BF16_BF16_F32, _PRESETS.BF16_BF16_F32_X3, _PRESETS.BF16_BF16_F32_X6}
)
"""Those that JAX has on a CPU."""


@lowers("dot_general")
def lower_dot_general(
    context: LoweringContext, equation: Equation, left: ir.Value, right: ir.Value
) -> list[ir.Value]:
    """Matrix products; elementwise ones where no axis is contracted."""
    (contracted, _), _ = equation.params["dimension_numbers"]
    precision = equation.params["precision"]
    if not _is_computed_here(precision):
        return NotImplemented
    avals = [_rounded(aval, precision) for aval in equation.avals_in]
    left, right = (
        _converted(context, value, own, aval)
        for value, own, aval in zip((left, right), equation.avals_in, avals, strict=True)
    )
    if not contracted:
        return _without_sums(context, equation, avals, left, right)
    (result,) = equation.avals_out
    dtypes = map(whole_bytes, (*_dtypes(avals), result.dtype))
    wide = result.update(dtype=functools.reduce(jnp.promote_types, dtypes))
    operands = [
        _converted(context, value, aval, wide)
        for value, aval in zip((left, right), avals, strict=True)
    ]
    attributes = {"dot_dimension_numbers": _dimension_numbers(equation)}
    product = create("stablehlo.dot_general", [context.type_of(wide)], operands, attributes).result
    if is_for_blas(context.element_type_of(wide), _sizes_of_one(equation)):
        context.imports["blas"] += 1
    return [_converted(context, product, wide, result)]


def _dimension_numbers(equation: Equation) -> ir.Attribute:
    """StableHLO's attribute; text, as JAX's class for it takes as long."""
    (contracted, batch) = equation.params["dimension_numbers"]
    lists = {
        f"{side}_{kind}_dimensions": list(map(int, axes))
        for kind, pair in (("batching", batch), ("contracting", contracted))
        for side, axes in zip(("lhs", "rhs"), pair, strict=True)
        if axes
    }
    text = ", ".join(f"{name} = {axes}" for name, axes in lists.items())
    return ir.Attribute.parse(f"#stablehlo.dot<{text}>")


def _sizes_of_one(equation: Equation) -> list[Any]:
    """The sizes of one product of the batch."""
    (_, summed), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left, right = equation.avals_in
    others = (*summed, *right_batch)
    return [
        *(size for axis, size in enumerate(left.shape) if axis not in left_batch),
        *(size for axis, size in enumerate(right.shape) if axis not in others),
    ]


def _is_computed_here(precision: Any) -> bool:
    """Whether JAX has it on a CPU, where every precision is full; what it has not, it refuses."""
    if isinstance(precision, lax.DotAlgorithmPreset):
        return precision in _ALGORITHMS
    choices = precision if isinstance(precision, tuple) else (precision,)
    return all(choice is None or isinstance(choice, lax.Precision) for choice in choices)


def _rounded(aval: Any, precision: Any) -> Any:
    """The type that an operand is converted to first, by an algorithm that does not take its own.

    That is all that an algorithm changes: ours are as accurate as any of them.
    """
    if not isinstance(precision, lax.DotAlgorithmPreset):
        return aval
    types = precision.supported_lhs_types  # those of the other side are the same
    return aval if types is None or aval.dtype in types else aval.update(dtype=np.dtype(types[0]))


def _dtypes(avals: Sequence[Any]) -> list[Any]:
    return [aval.dtype for aval in avals]


def _converted(context: LoweringContext, value: ir.Value, aval: Any, wanted: Any) -> ir.Value:
    """An array with elements of the type of another one."""
    if aval.dtype == wanted.dtype:
        return value

    def convert(operand: jax.Array) -> tuple[jax.Array]:
        return (lax.convert_element_type(operand, wanted.dtype),)

    return context.lower_function(convert, [aval], [value])[0]


def _without_sums(
    context: LoweringContext,
    equation: Equation,
    avals: Sequence[Any],
    left: ir.Value,
    right: ir.Value,
) -> list[ir.Value]:
    """Both operands broadcast to the result's shape, and multiplied; flags: both."""
    _, (left_batch, right_batch) = equation.params["dimension_numbers"]
    result = equation.avals_out[0]
    left_axes = _axes_in_result(equation.avals_in[0].ndim, left_batch, len(left_batch))
    taken = equation.avals_in[0].ndim
    right_axes = _axes_in_result(equation.avals_in[1].ndim, right_batch, taken)

    def product(a: jax.Array, b: jax.Array) -> tuple[jax.Array]:
        a, b = (lax.convert_element_type(operand, result.dtype) for operand in (a, b))
        times = lax.bitwise_and if result.dtype == bool else lax.mul
        return (times(_spread(a, result.shape, left_axes), _spread(b, result.shape, right_axes)),)

    return context.lower_function(product, avals, [left, right])


def _spread(array: jax.Array, shape: Sequence[Any], axes: Sequence[int]) -> jax.Array:
    """An array along these axes of a shape; `broadcast_in_dim` takes them in their order only."""
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return lax.broadcast_in_dim(lax.transpose(array, order), shape, sorted(axes))


def _axes_in_result(rank: int, batch: tuple[int, ...], taken: int) -> list[int]:
    """The result's axis for each of an operand's: batches come first, others from `taken` on."""
    others = [axis for axis in range(rank) if axis not in batch]
    places = {axis: place for place, axis in enumerate(batch)}
    places |= {axis: taken + number for number, axis in enumerate(others)}
    return [places[axis] for axis in range(rank)]
