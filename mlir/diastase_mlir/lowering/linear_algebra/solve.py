"""Rule for `custom_linear_solve`."""

from diastase_mlir.emit.loops import Values
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.control_flow.loops import region_of, split
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers


@lowers("custom_linear_solve")
def lower_custom_linear_solve(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> Values:
    """Its `solve` function; the others serve differentiation only."""
    lengths, functions = equation.params["const_lengths"], equation.params["jaxprs"]
    counts = (lengths.matvec, lengths.vecmat, lengths.solve, lengths.transpose_solve)
    _, _, constants, _, right_sides = split(operands, *counts)
    return region_of(context, functions.solve)(*constants, *right_sides)
