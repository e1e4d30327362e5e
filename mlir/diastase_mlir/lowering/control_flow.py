"""Loops and branches: JAX's `while`, `scan`, `cond` and our `while_loop`, `for_loop`, `switch`.

Those whose values are all arrays become StableHLO's, others structured control flow (`scf`); both
are emitted by `elementwise.regions`. Regions are jaxprs; constants they close over are leading
operands.

`for_loop` is Python's `range`: the number of iterations is computed first, so that any step, a
negative one known only at run time included, becomes a loop that counts up from zero. A step of
zero is an error of the call. With `apply_reverse_transform` the last index comes first (a loop of
an adjoint).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diastase_mlir import jax_compat
from diastase_mlir.emit import loops
from diastase_mlir.emit.loops import Values, if_else
from diastase_mlir.emit.operations import (
    array_attribute,
    create,
    integer_constant,
    integer_type,
    number_type,
)
from diastase_mlir.emit.tensors import tensor_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_known_empty, is_unsigned, retyped
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.dimensions import shape_of
from diastase_mlir.lowering.core.registry import Equation, Value, known_integer, lowers
from diastase_mlir.lowering.elementwise import regions
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.lowering.elementwise.moves import (
    row_at,
    spread,
    spread_to,
    with_row_at,
    zeros,
)
from diastase_mlir.lowering.elementwise.regions import (
    are_arrays,
    converted,
    counted_loop,
    counted_loop_of_registers,
    fill_by_operation,
    flag,
    on_numbers,
    region_of,
    resizable_carry,
    split,
    typed_carry,
)
from diastase_runtime.abi import ErrorCode

# --- while ---------------------------------------------------------------------------------------


@lowers("while", "while_loop", keys=True)
def lower_while(context: LoweringContext, equation: Equation, *operands: ir.Value) -> Values:
    """JAX's and our own loop with a condition."""
    params = equation.params
    condition_constants, body_constants, carry = split(
        operands, params["cond_nconsts"], params["body_nconsts"]
    )
    carry_avals = params["body_jaxpr"].in_avals[params["body_nconsts"] :]
    given = equation.avals_in[len(condition_constants) + len(body_constants) :]
    carry = resizable_carry(context, carry, given, carry_avals)
    condition = region_of(context, params["cond_jaxpr"])
    body = region_of(context, params["body_jaxpr"])
    (predicate,) = params["cond_jaxpr"].out_avals
    if predicate.shape != ():
        return _batched_while(
            context,
            lambda inner: condition(*condition_constants, *inner)[0],
            lambda inner: body(*body_constants, *inner),
            carry,
        )
    return _while(
        context,
        carry,
        lambda inner: condition(*condition_constants, *inner)[0],
        lambda inner: body(*body_constants, *inner),
    )


def _while(
    context: LoweringContext,
    carry: Values,
    condition: Callable[[Values], ir.Value],
    body: Callable[[Values], Sequence[ir.Value]],
) -> Values:
    if are_arrays([value.type for value in carry]):
        return regions.while_true(context, carry, condition, body)
    return loops.while_true(context, carry, lambda inner: flag(condition(inner)), body, retyped)


def _batched_while(
    context: LoweringContext,
    condition: Callable[[Values], ir.Value],
    body: Callable[[Values], Sequence[ir.Value]],
    carry: Values,
) -> Values:
    """A vectorised loop, one predicate per batch element.

    It runs while any predicate holds; elements whose own does not keep their values. The
    predicates are computed once per iteration and carried; one that was false is seen to stay so.
    """
    first = condition(carry)
    count = tensor_type(first).rank

    def step(inner: Values) -> Values:
        *old, active = inner
        new = body(old)
        kept = [_choose(active, one, other, count) for one, other in zip(new, old, strict=True)]
        still = create("stablehlo.and", [active.type], [active, condition(kept)]).result
        return [*kept, still]

    results = _while(context, [*carry, first], lambda inner: _any(context, inner[-1]), step)
    return results[:-1]


def _any(context: LoweringContext, predicates: ir.Value) -> ir.Value:
    """Whether any element holds."""
    kind, rank = number_type(integer_type(1)), tensor_type(predicates).rank
    no = context.constant(np.False_)
    if 0 in tensor_type(predicates).shape:
        return no
    attributes = {"dimensions": array_attribute("i64", range(rank))}
    operation = create("stablehlo.reduce", [kind], [predicates, no], attributes, regions=1)
    fill_by_operation(context, operation.regions[0], "or", integer_type(1))
    return operation.result


def _choose(active: ir.Value, new: ir.Value, old: ir.Value, count: int) -> ir.Value:
    """Per batch element (the first `count` axes), the new or the old value."""
    shape = tensor_type(old).shape
    if len(shape) > count:
        if tensor_type(old).has_static_shape:
            active = spread(active, shape, range(count))
        else:
            kind = ir.RankedTensorType.get(shape, integer_type(1))
            active = spread_to(active, shape_of(old), kind, range(count))
    return create("stablehlo.select", [old.type], [active, new, old]).result


# --- scan ----------------------------------------------------------------------------------------


@lowers("scan", keys=True)
def lower_scan(context: LoweringContext, equation: Equation, *operands: ir.Value) -> Values:
    """A loop over the leading axis of arrays, that stacks what each step gives."""
    params = equation.params
    constant_count, count = jax_compat.scan_counts(params)
    constants, carry, stacked = split(operands, constant_count, count)
    avals, length = equation.avals_out[count:], params["length"]
    initial = typed_carry(context, carry, equation.avals_out[:count])
    if length == 0:
        return [*initial, *(zeros(context, aval) for aval in avals)]
    trips = length if isinstance(length, int) else context.dimensions.size_number(length)
    initial += [zeros(context, aval, trips) for aval in avals]
    given = equation.avals_in[len(operands) - len(stacked) :]
    read, written = ([_sizes_of_rows(context, aval) for aval in own] for own in (given, avals))
    row_avals = params["jaxpr"].in_avals[len(operands) - len(stacked) :]
    step = region_of(context, params["jaxpr"])

    if isinstance(trips, int):
        last = integer_constant(trips - 1)
    else:
        last = on_numbers("subtract", trips, integer_constant(1))

    def body(counter: ir.Value, inner: Values) -> Values:
        if params["reverse"]:
            counter = on_numbers("subtract", last, counter)
        rows = [
            zeros(context, aval) if _is_empty(aval) else row_at(context, array, counter, sizes)
            for array, sizes, aval in zip(stacked, read, row_avals, strict=True)
        ]
        results = step(*constants, *inner[:count], *rows)
        outs = [
            out if _is_empty(aval) else with_row_at(context, out, row, counter, sizes)
            for out, row, sizes, aval in zip(
                inner[count:], results[count:], written, avals, strict=True
            )
        ]
        return [*results[:count], *outs]

    if _is_written_out(params):
        for place in range(length):
            initial = body(integer_constant(place), initial)
        return initial
    if are_arrays([value.type for value in initial]):
        return counted_loop(context, trips, initial, body)
    return counted_loop_of_registers(context, trips, initial, body)


def _sizes_of_rows(context: LoweringContext, aval: Any) -> ir.Value | None:
    """The sizes of parts along the first axis, where not all sizes along the others are known."""
    _, *others = jax_compat.physical_aval(aval).shape
    return context.vector([1, *others]) if any(map(jax_compat.is_symbolic, others)) else None


def _is_empty(aval: Any) -> bool:
    return is_known_empty(jax_compat.physical_aval(aval))


_MOST_STEPS = 32


def _is_written_out(params: Any) -> bool:
    """Whether the user (or `jnp.polyval`) asks for all steps without a loop, and they are few."""
    length = params["length"]
    return isinstance(length, int) and 1 < params["unroll"] >= length and length <= _MOST_STEPS


# --- branches ------------------------------------------------------------------------------------


@lowers("cond", "switch", keys=True)
def lower_switch(context: LoweringContext, equation: Equation, *operands: ir.Value) -> Values:
    """JAX's `cond` (which is also its `switch`) and our `switch`; the index is in range."""
    index, *inputs = operands
    branches = equation.params.get("branches") or equation.params["branch_jaxprs"]
    types = [context.type_of(aval) for aval in equation.avals_out]

    def branch(jaxpr: Any) -> Callable[[], Values]:
        return lambda: typed_carry(context, region_of(context, jaxpr)(*inputs), equation.avals_out)

    bodies = [branch(jaxpr) for jaxpr in branches]
    if are_arrays(types):
        return regions.case(context, converted(index, integer_type(32)), types, bodies)
    return _one_of(context, index, types, bodies)


def _one_of(
    context: LoweringContext,
    index: ir.Value,
    types: Sequence[ir.Type],
    branches: Sequence[Callable[[], Values]],
    first: int = 0,
) -> Values:
    """One of several branches that give more than arrays: each `scf.if` decides between halves."""
    if len(branches) == 1:
        return list(branches[0]())
    half = len(branches) // 2
    width = ir.IntegerType(ir.RankedTensorType(index.type).element_type).width
    is_below = compared("lt", "SIGNED", index, integer_constant(first + half, width))
    return if_else(
        context,
        flag(is_below),
        types,
        lambda: _one_of(context, index, types, branches[:half], first),
        lambda: _one_of(context, index, types, branches[half:], first + half),
    )


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
