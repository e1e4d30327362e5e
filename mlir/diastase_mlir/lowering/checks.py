"""Checks of values: `require` records an error, and the program runs on to its end."""

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.operations import create, integer_type, scalar_constant
from diastase_mlir.lowering.registry import Equation, Value, lowers
from diastase_mlir.lowering.tensors import unbox


@lowers("require")
def lower_require(context: LoweringContext, equation: Equation, holds: ir.Value) -> list[Value]:
    """Record an error where the operand is false."""
    true = scalar_constant(integer_type(1), 1)
    failed = create("arith.xori", [integer_type(1)], [unbox(holds), true]).result
    site = context.failures.site(equation.params["what"], equation.source_info)
    context.failures.record(failed, equation.params["error"], site)
    return []
