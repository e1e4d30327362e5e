"""Checks of sizes: `assert_size`, recorded by tracing before a use, and `assume`."""

from collections.abc import Mapping, Sequence

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.operations import (
    compare_integers,
    create,
    integer_type,
    scalar_constant,
)
from diastase_mlir.lowering.registry import Equation, Value, lowers
from diastase_mlir.program import Assumption, Comparison
from diastase_runtime.abi import ErrorCode


@lowers("assert_size")
def lower_assert_size(context: LoweringContext, equation: Equation) -> list[Value]:
    """Record an error and leave the program if the size is too small.

    It must not go on: the product of two negative sizes would be a size.
    """
    size = context.dimension(equation.params["size"])
    least = context.dimension(equation.params["at_least"])
    code = ErrorCode.SIZE_MISMATCH if equation.params["at_least"] != 0 else ErrorCode.NEGATIVE_SIZE
    site = context.failures.site(equation.params["construct"], equation.source_info)
    details = [_number(size), _number(least)]
    leave_if(context, compare_integers("slt", size, least), code, site, details)
    return []


_FAILED: Mapping[Comparison, str] = {">=": "slt", "<": "sge", "==": "ne", "!=": "eq"}
"""By what an assumption says: the comparison that is true where it fails."""


@lowers("assume")
def lower_assume(context: LoweringContext, equation: Equation) -> list[Value]:
    """Leave the program if an assumption fails that could not be checked at its start."""
    check_assumption(context, equation.params["assumption"])
    return []


def check_assumption(context: LoweringContext, assumption: Assumption) -> None:
    """Record an error and leave the program if an assumption fails."""
    left, right = context.dimension(assumption.left), context.dimension(assumption.right)
    failed = compare_integers(_FAILED[assumption.comparison], left, right)
    site = context.failures.site_at(assumption.text, assumption.span)
    number = scalar_constant(integer_type(64), assumption.number)
    details = [_number(left), _number(right), number]
    code, at_start = ErrorCode.ASSUMPTION_FAILED, assumption.at_start
    leave_if(context, failed, code, site, details, at_start=at_start)


def leave_if(
    context: LoweringContext,
    failed: ir.Value,
    code: ErrorCode,
    site: ir.Value,
    details: Sequence[ir.Value],
    *,
    at_start: bool = False,
) -> None:
    """Record an error and leave the program, if something has failed."""
    guard = create("scf.if", [], [failed], regions=2)
    with ir.InsertionPoint(guard.regions[0].blocks.append()):
        context.failures.record(failed, code, site, details)
        context.failures.leave(at_start=at_start)
        create("scf.yield", [], [])


def _number(index: ir.Value) -> ir.Value:
    """An `index` as an `i64`."""
    return create("arith.index_cast", [integer_type(64)], [index]).result
