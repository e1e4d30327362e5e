"""Loops and branches: JAX's `while`, `scan`, `cond` and our `while_loop`, `switch`.

Our `for_loop` has its own module (`counted_loops`).

All become structured control flow (`loops`), never StableHLO's, which the pipeline cannot convert
for arrays of unknown size. Regions are jaxprs; constants they close over are leading operands.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diastase_mlir import jax_internals
from diastase_mlir.emit.loops import Values, append_block, for_range, if_else, under_type
from diastase_mlir.emit.operations import (
    array_attribute,
    create,
    index_binary,
    index_constant,
    integer_constant,
    integer_type,
    number_type,
    to_signless,
)
from diastase_mlir.emit.tensors import (
    empty,
    extract,
    extract_slice,
    insert_slice,
    sizes_of,
    tensor_type,
)
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering import regions
from diastase_mlir.lowering.array_types import whole_bytes
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.dimensions import shape_of
from diastase_mlir.lowering.elementwise import compared, repeated
from diastase_mlir.lowering.loops import (
    region_of,
    resizable_carry,
    split,
    typed_carry,
    while_true,
)
from diastase_mlir.lowering.moves import is_known, row_at, spread, spread_to, with_row_at
from diastase_mlir.lowering.regions import are_arrays, converted, counted_loop, flag, on_numbers
from diastase_mlir.lowering.registry import Equation, lowers

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
    return while_true(context, carry, lambda inner: flag(condition(inner)), body)


def _batched_while(
    context: LoweringContext,
    condition: Callable[[Values], ir.Value],
    body: Callable[[Values], Sequence[ir.Value]],
    carry: Values,
) -> Values:
    """A vectorised loop, one predicate per batch element.

    It runs while any predicate holds; elements whose own does not keep their values. The
    predicates are computed once per iteration and carried.
    """
    first = condition(carry)
    count = tensor_type(first).rank

    def step(inner: Values) -> Values:
        *old, active = inner
        new = body(old)
        kept = [_choose(active, one, other, count) for one, other in zip(new, old, strict=True)]
        return [*kept, condition(kept)]

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
    block = append_block(operation.regions[0], [kind, kind])
    with ir.InsertionPoint(block):
        create("stablehlo.return", [], [on_numbers("or", *block.arguments)])
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
    constant_count, count = jax_internals.scan_counts(params)
    constants, carry, stacked = split(operands, constant_count, count)
    if _is_known(equation):
        return _scan_known(context, equation, constants, carry, stacked)
    jaxpr, length = params["jaxpr"], context.dimension(params["length"])
    carry = typed_carry(context, carry, equation.avals_out[:count])
    outputs = [_empty_array(context, aval) for aval in equation.avals_out[count:]]
    slice_types = [context.type_of(aval) for aval in jaxpr.in_avals[len(operands) - len(stacked) :]]
    stacked = [to_signless(array) for array in stacked]
    step = region_of(context, jaxpr)

    def body(index: ir.Value, inner: Values) -> Values:
        if params["reverse"]:
            index = index_binary("subi", index_binary("subi", length, index_constant(1)), index)
        states, outs = inner[:count], inner[count:]
        slices = [
            under_type(_row(array, index), kind)
            for array, kind in zip(stacked, slice_types, strict=True)
        ]
        results = step(*constants, *states, *slices)
        rows = [_with_row(out, index, row) for out, row in zip(outs, results[count:], strict=True)]
        return [*results[:count], *rows]

    return for_range(context, (0, length, 1), [*carry, *outputs], body)


def _is_known(equation: Equation) -> bool:
    """Whether all values are arrays of known sizes, with elements."""
    avals = [
        jax_internals.physical_aval(aval) for aval in (*equation.avals_in, *equation.avals_out)
    ]
    return all(hasattr(aval, "dtype") for aval in avals) and is_known(*avals)


def _scan_known(
    context: LoweringContext,
    equation: Equation,
    constants: Sequence[ir.Value],
    carry: Sequence[ir.Value],
    stacked: Sequence[ir.Value],
) -> Values:
    """The same for arrays of known sizes."""
    params, count = equation.params, len(carry)
    length = params["length"]
    outputs = [_zeros(context, aval) for aval in equation.avals_out[count:]]
    step = region_of(context, params["jaxpr"])

    def body(counter: ir.Value, inner: Values) -> Values:
        if params["reverse"]:
            counter = on_numbers("subtract", integer_constant(length - 1), counter)
        rows = [row_at(context, array, counter) for array in stacked]
        results = step(*constants, *inner[:count], *rows)
        outs = [
            with_row_at(context, out, row, counter)
            for out, row in zip(inner[count:], results[count:], strict=True)
        ]
        return [*results[:count], *outs]

    initial = [*typed_carry(context, carry, equation.avals_out[:count]), *outputs]
    if _is_written_out(params):
        for place in range(length):
            initial = body(integer_constant(place), initial)
        return initial
    return counted_loop(context, length, initial, body)


def _zeros(context: LoweringContext, aval: Any) -> ir.Value:
    physical = jax_internals.physical_aval(aval)
    zero = context.constant(np.zeros((), whole_bytes(physical.dtype)), physical.update(shape=()))
    return repeated(zero, context.type_of(aval))


_MOST_STEPS = 32


def _is_written_out(params: Any) -> bool:
    """Whether the user (or `jnp.polyval`) asks for all steps without a loop, and they are few."""
    length = params["length"]
    return isinstance(length, int) and 1 < params["unroll"] >= length and length <= _MOST_STEPS


def _empty_array(context: LoweringContext, aval: Any) -> ir.Value:
    """An array of undefined contents for an abstract value."""
    physical = jax_internals.physical_aval(aval)
    element = context.element_type_of(aval)
    return empty([context.size(size) for size in physical.shape], element)


def _row(array: ir.Value, index: ir.Value) -> ir.Value:
    """A row of an array: a scalar where the array is a vector."""
    if tensor_type(array).rank == 1:
        return extract(array, [index])
    sizes = sizes_of(array)
    rank = len(sizes)
    offsets = [index, *[0] * (rank - 1)]
    return extract_slice(array, offsets, [1, *sizes[1:]], [1] * rank, frozenset([0]))


def _with_row(array: ir.Value, index: ir.Value, row: ir.Value) -> ir.Value:
    """The array with one row replaced."""
    row = to_signless(row)
    sizes = sizes_of(array)
    rank = len(sizes)
    offsets = [index, *[0] * (rank - 1)]
    return insert_slice(row, array, offsets, [1, *sizes[1:]], [1] * rank)


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
