"""Checks of sizes (`assert_size`, recorded by tracing before a use; `assume`) and of values.

A size that is refused leaves the program; where a value is (`require`), it runs on to its end.
"""

from collections.abc import Mapping

from diastase_mlir.emit.operations import create, integer_constant
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.program import Assumption, Comparison
from diastase_runtime.abi import ErrorCode


@lowers("assert_size")
def lower_assert_size(context: LoweringContext, equation: Equation) -> list[Value]:
    """Record an error and leave the program if the size is too small.

    It must not go on: the product of two negative sizes would be a size.
    """
    size, least = (context.number(equation.params[name]) for name in ("size", "at_least"))
    code = ErrorCode.SIZE_MISMATCH if equation.params["at_least"] != 0 else ErrorCode.NEGATIVE_SIZE
    site = context.failures.site(equation.params["construct"], equation.source_info)
    failed = compared("lt", "SIGNED", size, least)
    context.failures.record(failed, code, site, [size, least], leave="now")
    return []


_FAILED: Mapping[Comparison, str] = {">=": "lt", "<": "ge", "==": "ne", "!=": "eq"}
"""By what an assumption says: the comparison that is true where it fails."""


@lowers("assume")
def lower_assume(context: LoweringContext, equation: Equation) -> list[Value]:
    """Leave the program if an assumption fails that could not be checked at its start."""
    check_assumption(context, equation.params["assumption"])
    return []


def check_assumption(context: LoweringContext, assumption: Assumption) -> None:
    """Record an error and leave the program if an assumption fails."""
    left, right = context.number(assumption.left), context.number(assumption.right)
    failed = compared(_FAILED[assumption.comparison], "SIGNED", left, right)
    site = context.failures.site_at(assumption.text, assumption.span)
    details = [left, right, integer_constant(assumption.number)]
    leave = "at start" if assumption.at_start else "now"
    context.failures.record(failed, ErrorCode.ASSUMPTION_FAILED, site, details, leave=leave)


@lowers("require")
def lower_require(context: LoweringContext, equation: Equation, holds: ir.Value) -> list[Value]:
    """Record an error where the operand is false."""
    failed = create("stablehlo.not", [holds.type], [holds]).result
    site = context.failures.site(equation.params["what"], equation.source_info)
    context.failures.record(failed, equation.params["error"], site)
    return []
