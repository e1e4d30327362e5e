"""Our `for_loop`: Python's `range`, with bounds and step that may be known only at run time.

The number of iterations is computed first, so that any step, a negative one known only at run
time included, becomes a loop that counts up from zero. A step of zero is an error of the call. With
`apply_reverse_transform` the last index comes first (a loop of an adjoint).
"""

from collections.abc import Sequence

import numpy as np

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.array_types import is_unsigned
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.deferred import Number, known_integer, scalar_of
from diastase_mlir.lowering.loops import (
    Values,
    for_range,
    polling,
    region_of,
    resizable_carry,
    split,
    uncarried,
)
from diastase_mlir.lowering.operations import (
    binary,
    compare_integers,
    create,
    flag_constant,
    index_binary,
    index_constant,
    index_type,
    integer_type,
    scalar_constant,
    select,
)
from diastase_mlir.lowering.registry import Equation, Value, lowers
from diastase_mlir.lowering.tensors import as_index
from diastase_runtime.abi import ErrorCode


@lowers("for_loop", lazy=True, keys=True)
def lower_for_loop(context: LoweringContext, equation: Equation, *operands: Value) -> Values:
    """A loop over a range, that carries values from one iteration to the next."""
    jaxpr, count = equation.params["body_jaxpr"], equation.params["body_nconsts"]
    constants, bounds, carry = split(operands, count, 3)
    values = [context.value(constant) for constant in constants]
    index_aval, *carry_avals = jaxpr.in_avals[count:]
    initial = [context.value(value) for value in carry]
    initial = resizable_carry(context, initial, equation.avals_in[count + 3 :], carry_avals)
    index_kind = context.type_of(index_aval)
    lower, _, step = known = [known_integer(bound) for bound in bounds]
    if not step:
        _refuse_zero_step(context, equation, bounds[2])
    trips = _known_trip_count(known)
    if trips is None:
        trips = _trip_count(*map(scalar_of, bounds), dtype=index_aval.dtype)
    body = region_of(context, jaxpr)

    def iteration(trip: ir.Value, inner: Values) -> Values:
        if equation.params["apply_reverse_transform"]:
            last = index_binary("subi", as_index(trips), index_constant(1))
            trip = index_binary("subi", last, trip)
        kind = context.element_type_of(index_aval)
        index = create("arith.index_cast", [kind], [trip]).result
        if step != 1:
            index = binary("arith.muli", index, scalar_of(bounds[2]))
        if lower != 0:
            index = binary("arith.addi", scalar_of(bounds[0]), index)
        if is_unsigned(index_aval.dtype):
            return body(*values, uncarried(index, index_kind), *inner)
        return body(*values, Number(index), *inner)

    return for_range(context, (0, trips, 1), initial, polling(context, iteration))


def _known_trip_count(bounds: Sequence[int | None]) -> int | None:
    """`len(range(lower, upper, step))`, where that can be said now."""
    lower, upper, step = bounds
    if lower is None or upper is None or not step:
        return None
    trips = max(0, -((lower - upper) // step))  # `len` refuses more than 2**63
    return trips if trips < 2**63 else None


def _trip_count(lower: ir.Value, upper: ir.Value, step: ir.Value, dtype: np.dtype) -> ir.Value:
    """`len(range(lower, upper, step))`, without overflow for any bounds; 0 for a step of 0."""
    wide, unsigned = integer_type(64), is_unsigned(dtype)
    if lower.type != wide:
        name = "arith.extui" if unsigned else "arith.extsi"
        lower, upper, step = (create(name, [wide], [v]).result for v in (lower, upper, step))
    zero, one = scalar_constant(wide, 0), scalar_constant(wide, 1)
    down = flag_constant(False) if unsigned else compare_integers("slt", step, zero)
    first, last = select(down, upper, lower), select(down, lower, upper)
    is_zero = compare_integers("eq", step, zero)
    stride = select(is_zero, one, select(down, binary("arith.subi", zero, step), step))
    # As an unsigned number the distance fits 64 bits, whatever the signs of the bounds.
    distance = binary("arith.subi", binary("arith.subi", last, first), one)
    trips = binary("arith.addi", binary("arith.divui", distance, stride), one)
    proceeds = compare_integers("ult" if unsigned else "slt", first, last)
    trips = select(is_zero, zero, select(proceeds, trips, zero))
    return create("arith.index_cast", [index_type()], [trips]).result


def _refuse_zero_step(context: LoweringContext, equation: Equation, step: Value) -> None:
    number = scalar_of(step)
    is_zero = compare_integers("eq", number, scalar_constant(number.type, 0))
    site = context.failures.site("for_loop", equation.source_info)
    context.failures.record(is_zero, ErrorCode.ZERO_STEP, site)
