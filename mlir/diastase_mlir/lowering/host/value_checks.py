"""Checks of values: `require` records an error, and the program runs on to its end."""

from diastase_mlir.emit.operations import create
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers


@lowers("require")
def lower_require(context: LoweringContext, equation: Equation, holds: ir.Value) -> list[Value]:
    """Record an error where the operand is false."""
    failed = create("stablehlo.not", [holds.type], [holds]).result
    site = context.failures.site(equation.params["what"], equation.source_info)
    context.failures.record(failed, equation.params["error"], site)
    return []
