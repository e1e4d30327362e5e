"""Loops and branches: JAX's `while`, `scan`, `cond` and our `while_loop`, `switch`.

Our `for_loop` has its own module (`counted_loops`).

All become structured control flow (`loops`), never StableHLO's, which the pipeline cannot convert
for arrays of unknown size. Regions are jaxprs; constants they close over are leading operands.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir import jax_internals
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.dimensions import to_index
from diastase_mlir.lowering.loops import (
    Values,
    for_each,
    for_range,
    one_of,
    polling,
    region_of,
    resizable_carry,
    split,
    typed_carry,
    uncarried,
    while_true,
)
from diastase_mlir.lowering.operations import (
    any_of,
    flag_constant,
    index_binary,
    index_constant,
    select,
    to_signless,
)
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.tensors import (
    element_type,
    empty,
    extract,
    extract_slice,
    generate,
    insert_slice,
    sizes_of,
    tensor_type,
    unbox,
)

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
    body = polling(context, region_of(context, params["body_jaxpr"]))
    (predicate,) = params["cond_jaxpr"].out_avals
    if predicate.shape != ():
        return _batched_while(
            context,
            lambda inner: condition(*condition_constants, *inner)[0],
            lambda inner: body(*body_constants, *inner),
            carry,
        )
    return while_true(
        context,
        carry,
        lambda inner: unbox(condition(*condition_constants, *inner)[0]),
        lambda inner: body(*body_constants, *inner),
    )


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

    results = while_true(context, [*carry, first], lambda inner: _any(context, inner[-1]), step)
    return results[:-1]


def _any(context: LoweringContext, predicates: ir.Value) -> ir.Value:
    """Whether any element holds."""
    (found,) = for_each(
        context,
        sizes_of(predicates),
        [flag_constant(False)],
        lambda position, carry: [any_of([carry[0], extract(predicates, position)])],
    )
    return found


def _choose(active: ir.Value, new: ir.Value, old: ir.Value, count: int) -> ir.Value:
    """Per batch element (the first `count` axes), the new or the old value."""
    new, old = to_signless(new), to_signless(old)
    return generate(
        sizes_of(old),
        element_type(old),
        lambda position: select(
            extract(active, position[:count]), extract(new, position), extract(old, position)
        ),
    )


# --- scan ----------------------------------------------------------------------------------------


@lowers("scan", keys=True)
def lower_scan(context: LoweringContext, equation: Equation, *operands: ir.Value) -> Values:
    """A loop over the leading axis of arrays, that stacks what each step gives."""
    params = equation.params
    constant_count, count = jax_internals.scan_counts(params)
    constants, carry, stacked = split(operands, constant_count, count)
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
            uncarried(_row(array, index), kind)
            for array, kind in zip(stacked, slice_types, strict=True)
        ]
        results = step(*constants, *states, *slices)
        rows = [_with_row(out, index, row) for out, row in zip(outs, results[count:], strict=True)]
        return [*results[:count], *rows]

    if _is_written_out(params):
        inner = [*carry, *outputs]
        for number in range(params["length"]):
            inner = body(index_constant(number), inner)
        return inner
    return for_range(context, (0, length, 1), [*carry, *outputs], polling(context, body))


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
    """The carry of a row of an array: a scalar where the array is a vector."""
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

    return one_of(context, to_index(index), types, [branch(jaxpr) for jaxpr in branches])
