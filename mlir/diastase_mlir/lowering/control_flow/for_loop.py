"""Our `for_loop`: Python's `range`, with bounds and step that may be known only at run time.

The number of iterations is computed first, so that any step, a negative one known only at run
time included, becomes a loop that counts up from zero. A step of zero is an error of the call. With
`apply_reverse_transform` the last index comes first (a loop of an adjoint).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from diastase_mlir.emit.loops import Values
from diastase_mlir.emit.operations import (
    create,
    integer_constant,
    integer_type,
)
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.control_flow.loops import region_of, resizable_carry, split
from diastase_mlir.lowering.core.array_types import is_unsigned
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.numbers import known_integer
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.lowering.elementwise.regions import (
    are_arrays,
    converted,
    counted_loop,
    counted_loop_of_registers,
    on_numbers,
)
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
    trips = _known_trip_count(known)
    tensors = bounds if trips is not None else [context.value(bound) for bound in bounds]
    if not step:
        _refuse_zero_step(context, equation, context.value(tensors[2]), index_aval.dtype)
    if trips is None:
        trips = _trip_count(context, tensors, is_unsigned(index_aval.dtype))
    body = region_of(context, jaxpr)
    element = ir.RankedTensorType(index_kind).element_type

    def iteration(trip: ir.Value, inner: Values) -> Values:
        if equation.params["apply_reverse_transform"]:
            if isinstance(trips, int):
                last = integer_constant(trips - 1)
            else:
                last = on_numbers("subtract", trips, integer_constant(1))
            trip = on_numbers("subtract", last, trip)
        index = converted(trip, element)
        if step != 1:
            index = on_numbers("multiply", index, context.value(tensors[2]))
        if lower != 0:
            index = on_numbers("add", context.value(tensors[0]), index)
        return body(*values, index, *inner)

    if are_arrays([value.type for value in initial]):
        return counted_loop(context, trips, initial, iteration)
    return counted_loop_of_registers(context, trips, initial, iteration)


def _known_trip_count(bounds: Sequence[int | None]) -> int | None:
    """`len(range(lower, upper, step))`, where that can be said now."""
    lower, upper, step = bounds
    if lower is None or upper is None or not step:
        return None
    trips = max(0, -((lower - upper) // step))  # `len` refuses more than 2**63
    return trips if trips < 2**63 else None


def _trip_count(context: LoweringContext, bounds: Sequence[ir.Value], unsigned: bool) -> ir.Value:
    """`len(range(lower, upper, step))`, without overflow for any bounds; 0 for a step of 0."""
    element = integer_type(64)
    lower, upper, step = (converted(bound, element) for bound in bounds)
    zero, one = integer_constant(0), integer_constant(1)
    first, last, stride = lower, upper, step
    if not unsigned:
        down = compared("lt", "SIGNED", step, zero)
        first, last = _chosen(down, upper, lower), _chosen(down, lower, upper)
        stride = _chosen(down, on_numbers("negate", step), step)
    is_zero = compared("eq", "SIGNED", step, zero)
    stride = _chosen(is_zero, one, stride)
    # As an unsigned number the distance fits 64 bits, whatever the signs of the bounds.
    distance = on_numbers("subtract", on_numbers("subtract", last, first), one)
    trips = _bits(on_numbers("divide", *(_bits(n, signed=False) for n in (distance, stride))))
    order = "UNSIGNED" if unsigned else "SIGNED"
    proceeds = compared("lt", order, *(_bits(n, signed=not unsigned) for n in (first, last)))
    trips = _chosen(proceeds, on_numbers("add", trips, one), zero)
    return _chosen(is_zero, zero, trips)


def _bits(value: ir.Value, *, signed: bool = True) -> ir.Value:
    """The same bits as a signed or an unsigned number."""
    element = integer_type(64) if signed else ir.IntegerType.get_unsigned(64)
    kind = ir.RankedTensorType.get([], element)
    if value.type == kind:
        return value
    return create("stablehlo.bitcast_convert", [kind], [value]).result


def _chosen(flag: ir.Value, if_true: ir.Value, if_false: ir.Value) -> ir.Value:
    return create("stablehlo.select", [if_true.type], [flag, if_true, if_false]).result


def _refuse_zero_step(
    context: LoweringContext, equation: Equation, step: ir.Value, dtype: Any
) -> None:
    order = "UNSIGNED" if is_unsigned(dtype) else "SIGNED"
    is_zero = compared("eq", order, step, context.constant(np.zeros((), dtype)))
    site = context.failures.site("for_loop", equation.source_info)
    context.failures.record(is_zero, ErrorCode.ZERO_STEP, site)
