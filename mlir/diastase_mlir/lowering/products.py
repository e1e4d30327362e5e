"""Products of two arrays that sum over nothing: outer ones and batches of numbers.

JAX's rule gives a contraction that adds each product to an array of zeros. A loop that reads what
it writes must run once for each element, but MLIR's fusion takes it for elementwise arithmetic and
repeats it wherever the result is broadcast: `einsum("i,j,k->ijk", …)` would add up too often.
"""

import jax
from jax import lax

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.registry import Equation, lowers


@lowers("dot_general")
def lower_product(
    context: LoweringContext, equation: Equation, left: ir.Value, right: ir.Value
) -> list[ir.Value]:
    """An elementwise product where no axis is contracted; others are left to JAX's rule."""
    (contracted, _), (left_batch, right_batch) = equation.params["dimension_numbers"]
    if contracted:
        return NotImplemented
    result = equation.avals_out[0]
    left_axes = _axes_in_result(equation.avals_in[0].ndim, left_batch, len(left_batch))
    taken = equation.avals_in[0].ndim
    right_axes = _axes_in_result(equation.avals_in[1].ndim, right_batch, taken)

    def product(a: jax.Array, b: jax.Array) -> tuple[jax.Array]:
        a, b = (lax.convert_element_type(operand, result.dtype) for operand in (a, b))
        return (
            lax.mul(
                lax.broadcast_in_dim(a, result.shape, left_axes),
                lax.broadcast_in_dim(b, result.shape, right_axes),
            ),
        )

    return context.lower_function(product, equation.avals_in, [left, right])


def _axes_in_result(rank: int, batch: tuple[int, ...], taken: int) -> list[int]:
    """The result's axis for each of an operand's: batches come first, others from `taken` on."""
    others = [axis for axis in range(rank) if axis not in batch]
    places = {axis: place for place, axis in enumerate(batch)}
    places |= {axis: taken + number for number, axis in enumerate(others)}
    return [places[axis] for axis in range(rank)]
