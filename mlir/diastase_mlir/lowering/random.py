"""Rule for `threefry2x32`, the generator behind JAX's default keys.

JAX's rule for the CPU loops over rounds with arrays as carries, which costs an array per round;
the unrolled form fuses into one pass.
"""

from diastase_mlir.jax_internals import ir, threefry2x32
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.registry import Equation, lowers


@lowers("threefry2x32")
def lower_threefry2x32(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Twenty rounds on pairs of words, elementwise."""
    return context.lower_function(threefry2x32, equation.avals_in, operands)
