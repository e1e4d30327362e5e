"""Structured control flow (`scf`) that lowering rules emit.

Values enter a region as carries: a rank-0 tensor as a plain scalar (a tensor would cost an
allocation per iteration), unsigned tensors as signless ones, anything else as it is. `carried`
and `uncarried` go between a value and its carry. Symbols of dimensions defined in a region stay
in it (`LoweringContext.region`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.operations import (
    compare_integers,
    create,
    flag_constant,
    index_constant,
    index_type,
    reinterpret,
    signless_type,
    to_signless,
    to_type,
)
from diastase_mlir.lowering.registry import Value
from diastase_mlir.lowering.tensors import Size, as_index, box, unbox

Values = list[ir.Value]

HIDING = "builtin.unrealized_conversion_cast"
"""From an array and a flag to the array: with two operands, no fold applies to it."""


def carry_type(value_type: ir.Type) -> ir.Type:
    """The type under which values of this type are carried."""
    value_type = signless_type(value_type)
    if isinstance(value_type, ir.RankedTensorType) and value_type.rank == 0:
        return value_type.element_type
    return value_type


def carried(value: ir.Value, value_type: ir.Type) -> ir.Value:
    """A value of (about) this type as a carry."""
    signless = signless_type(value_type)
    value = to_type(value, signless)
    if isinstance(signless, ir.RankedTensorType) and signless.rank == 0:
        return unbox(value)
    return value


def uncarried(carry: ir.Value, value_type: ir.Type) -> ir.Value:
    """A carry as a value of exactly this type."""
    if isinstance(value_type, ir.RankedTensorType) and value_type.rank == 0:
        carry = box(carry)
    return reinterpret(carry, value_type)


def all_carried(values: Sequence[ir.Value], types: Sequence[ir.Type]) -> Values:
    """`carried` for each."""
    return [carried(value, kind) for value, kind in zip(values, types, strict=True)]


def all_uncarried(carries: Sequence[ir.Value], types: Sequence[ir.Type]) -> Values:
    """`uncarried` for each."""
    return [uncarried(carry, kind) for carry, kind in zip(carries, types, strict=True)]


def append_block(region: ir.Region, types: Sequence[ir.Type]) -> ir.Block:
    """A block with arguments of these types."""
    return region.blocks.append(*types, arg_locs=[ir.Location.current] * len(types))


def region_of(context: LoweringContext, jaxpr: Any) -> Callable[..., Values]:
    """A jaxpr as a function that emits it on values."""

    def emit(*operands: Value) -> Values:
        return [context.value(result) for result in context.lower_jaxpr(jaxpr, operands)]

    return emit


def split(values: Sequence[Any], *counts: int) -> list[list[Any]]:
    """The values in groups of these sizes; the last group is what remains."""
    groups: list[list[Any]] = []
    for count in counts:
        groups.append(list(values[:count]))
        values = values[count:]
    return [*groups, list(values)]


def typed_carry(
    context: LoweringContext, carry: Sequence[ir.Value], avals: Sequence[Any]
) -> Values:
    """Values under the types that a loop carries, or a choice gives."""
    return [context.typed(value, aval) for value, aval in zip(carry, avals, strict=True)]


def resizable_carry(
    context: LoweringContext,
    carry: Sequence[ir.Value],
    given: Sequence[Any],
    avals: Sequence[Any],
) -> Values:
    """Initial values under the types that a loop carries, where these may have other sizes.

    `given`: the types of the values in the jaxpr. The sizes of those whose shapes differ must stay
    unknown until arrays are memory: MLIR's canonicalisation would give the loop the type of the
    initial value, as far as it can find that out, though the body changes it.
    """
    return [
        value if getattr(own, "shape", ()) == getattr(aval, "shape", ()) else hidden(value)
        for value, own, aval in zip(typed_carry(context, carry, avals), given, avals, strict=True)
    ]


def hidden(value: ir.Value) -> ir.Value:
    """The array itself, as the result of a cast that no pass looks through before `show_sizes`."""
    value = to_signless(value)
    return create(HIDING, [value.type], [value, flag_constant(True)]).result


def for_range(
    context: LoweringContext,
    bounds: tuple[Size, Size, Size],
    initial: Sequence[ir.Value],
    body: Callable[[ir.Value, Values], Sequence[ir.Value]],
) -> Values:
    """`for index in range(lower, upper, step)` with a positive step; carries are any values."""
    types = [value.type for value in initial]
    carries = all_carried(initial, types)
    operands = [*map(as_index, bounds), *carries]
    kinds = [carry.type for carry in carries]
    operation = create("scf.for", kinds, operands, regions=1)
    block = append_block(operation.regions[0], [index_type(), *kinds])
    with context.region(block):
        index, *inner = block.arguments
        results = body(index, all_uncarried(inner, types))
        create("scf.yield", [], all_carried(results, types))
    return all_uncarried(operation.results, types)


def for_each(
    context: LoweringContext,
    sizes: Sequence[Size],
    initial: Sequence[ir.Value],
    body: Callable[[Values, Values], Sequence[ir.Value]],
) -> Values:
    """A nest of loops over all positions of an array of these sizes, in row-major order."""

    def nest(position: Values, carries: Values) -> Sequence[ir.Value]:
        if len(position) == len(sizes):
            return body(position, carries)
        bounds = (0, sizes[len(position)], 1)
        return for_range(
            context, bounds, carries, lambda index, inner: nest([*position, index], inner)
        )

    return list(nest([], list(initial)))


def if_else(
    context: LoweringContext,
    condition: ir.Value,
    types: Sequence[ir.Type],
    if_true: Callable[[], Sequence[ir.Value]],
    if_false: Callable[[], Sequence[ir.Value]],
) -> Values:
    """One of two regions, by an `i1`."""
    kinds = [carry_type(kind) for kind in types]
    operation = create("scf.if", kinds, [condition], regions=2)
    for region, branch in zip(operation.regions, (if_true, if_false), strict=True):
        with context.region(append_block(region, [])):
            create("scf.yield", [], all_carried(branch(), types))
    return all_uncarried(operation.results, types)


def when(context: LoweringContext, condition: ir.Value, body: Callable[[], None]) -> None:
    """A region that is run for its effects, if the condition (an `i1`) holds."""
    operation = create("scf.if", [], [condition], regions=2)
    with context.region(append_block(operation.regions[0], [])):
        body()
        create("scf.yield", [], [])


def one_of(
    context: LoweringContext,
    index: ir.Value,
    types: Sequence[ir.Type],
    branches: Sequence[Callable[[], Sequence[ir.Value]]],
    first: int = 0,
) -> Values:
    """One of several regions, by an `index`; the last one for any index that is out of range.

    Nested `scf.if`: `one-shot-bufferize` (LLVM 23) overlooks that the result of an
    `scf.index_switch` is one of the arrays that its branches yield, and overwrites it. Each decides
    between two halves, as the time of bufferization grows with a high power of the depth.
    """
    if len(branches) == 1:
        return list(branches[0]())
    half = len(branches) // 2
    # Unsigned: a negative index is above all others.
    is_below = compare_integers("ult", index, index_constant(first + half))
    return if_else(
        context,
        is_below,
        types,
        lambda: one_of(context, index, types, branches[:half], first),
        lambda: one_of(context, index, types, branches[half:], first + half),
    )


def polling(
    context: LoweringContext, body: Callable[..., Sequence[ir.Value]]
) -> Callable[..., Sequence[ir.Value]]:
    """The body of a loop of the user's, which may run for long and must not keep Ctrl-C out."""

    def polled(*operands: Any) -> Sequence[ir.Value]:
        context.failures.poll()
        return body(*operands)

    return polled


def while_true(
    context: LoweringContext,
    initial: Sequence[ir.Value],
    condition: Callable[[Values], ir.Value],
    body: Callable[[Values], Sequence[ir.Value]],
) -> Values:
    """While the condition (an `i1` computed from the carries) holds.

    Where the loop contains something that may record an error at run time, an error ends it:
    after one, the values that would end the loop may never come.
    """
    types = [value.type for value in initial]
    carries = all_carried(initial, types)
    kinds = [carry.type for carry in carries]
    operation = create("scf.while", kinds, carries, regions=2)
    before, after = (append_block(region, kinds) for region in operation.regions)
    fallible = context.failures.fallible
    with context.region(after):
        create("scf.yield", [], all_carried(body(all_uncarried(after.arguments, types)), types))
    with context.region(before):
        proceed = condition(all_uncarried(before.arguments, types))
        if context.failures.fallible > fallible:
            proceed = create(
                "arith.andi", [proceed.type], [proceed, context.failures.none_so_far()]
            ).result
        create("scf.condition", [], [proceed, *before.arguments])
    return all_uncarried(operation.results, types)
