"""`assert_size`: a size must be large enough; recorded by tracing before the use."""

from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.operations import (
    compare_integers,
    create,
    integer_type,
)
from diastase_mlir.lowering.registry import Equation, Value, lowers
from diastase_runtime.abi import ErrorCode


@lowers("assert_size")
def lower_assert_size(context: LoweringContext, equation: Equation) -> list[Value]:
    """Record an error if the size is too small; a negative one is used as 0 (`Dimensions.size`)."""
    size = context.dimension(equation.params["size"])
    least = context.dimension(equation.params["at_least"])
    code = ErrorCode.SIZE_MISMATCH if equation.params["at_least"] != 0 else ErrorCode.NEGATIVE_SIZE
    site = context.site("the program", equation.source_info)
    details = [
        create("arith.index_cast", [integer_type(64)], [number]).result for number in (size, least)
    ]
    context.record_error(compare_integers("slt", size, least), code, site, details)
    return []
