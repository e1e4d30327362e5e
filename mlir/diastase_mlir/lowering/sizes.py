"""`assert_size`: a size that is used must not be negative; recorded by tracing before the use."""

from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.operations import (
    compare_integers,
    create,
    index_constant,
    integer_type,
)
from diastase_mlir.lowering.registry import Equation, Value, lowers
from diastase_runtime.abi import ErrorCode


@lowers("assert_size")
def lower_assert_size(context: LoweringContext, equation: Equation) -> list[Value]:
    """Record an error if the size is negative; it is used as 0 then (`Dimensions.size`)."""
    size = context.dimension(equation.params["size"])
    is_negative = compare_integers("slt", size, index_constant(0))
    site = context.site("the program", equation.source_info)
    number = create("arith.index_cast", [integer_type(64)], [size]).result
    context.record_error(is_negative, ErrorCode.NEGATIVE_SIZE, site, [number])
    return []
