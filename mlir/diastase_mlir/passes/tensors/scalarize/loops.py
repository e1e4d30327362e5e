"""Rules for StableHLO's loops and branches, which become structured control flow.

A `while` that counts is an `scf.for`: its condition compares one carry with a value that the loop
does not change, and its body adds 1 to that carry. What the body hands on as it got it is no carry.

    stablehlo.while(%k = %0, %x = %a)             scf.for %k = 0 to %n iter_args(%x = %a) {
      cond { %k < %n }                      ->      runtime.poll
      do { …; return %k + 1, %y }                   …; scf.yield %y }

All these loops are the user's, who may want to interrupt them: each turn begins with a poll, and
one that does not count ends where an error is recorded, as the values that would end it may never
come. An array all of whose rows a loop sets (`counting`) need not hold anything before it.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir, load
from diastase_mlir.bindings.operations import create
from diastase_mlir.dialects.runtime import RUNTIME
from diastase_mlir.passes.tensors.scalarize.conversion import Conversion, Rule
from diastase_mlir.passes.tensors.scalarize.counting import Count, count_of, numbers_in, rows_set
from diastase_mlir.passes.tensors.scalarize.deferred import Number, Value, index_constant, scalar_of
from diastase_mlir.passes.tensors.scalarize.regions import (
    carried,
    carried_type,
    moved_block,
    take_arguments,
    uncarried,
    unless_failed,
)

_UNSIGNED_BELOW = 6
"""`ult` among the predicates of `arith.cmpi`."""


def _while(conversion: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value]:
    load((RUNTIME,))
    count = count_of(conversion, operation, operands)
    if count is None:
        return _uncounted(conversion, operation, operands)
    return _counted(conversion, operation, operands, count)


def _uncounted(conversion: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value]:
    types = [result.type for result in operation.results]
    kinds = [carried_type(kind) for kind in types]
    loop = create("scf.while", kinds, [carried(value) for value in operands], regions=2)
    condition, body = (region.blocks[0] for region in operation.regions)
    new, (proceeds,) = _converted(conversion, condition, loop.regions[0], kinds)
    with ir.InsertionPoint(new):
        create("scf.condition", [], [unless_failed(carried(proceeds)), *new.arguments])
    new, results = _converted(conversion, body, loop.regions[1], kinds)
    _finish(new, results)
    return [uncarried(own, kind) for own, kind in zip(loop.results, types, strict=True)]


def _counted(
    conversion: Conversion, operation: Any, operands: list[Value], count: Count
) -> Sequence[Value]:
    types, given = [result.type for result in operation.results], list(operation.operands)
    body = operation.regions[1].blocks[0]
    arguments = list(body.arguments)
    carries = [p for p in range(len(types)) if p not in {count.counter, *count.unchanged}]
    unread = rows_set(conversion, operation, count, carries)
    bounds = [_as_index(number) for number in (count.first, count.limit)]
    initial = [
        carried(_empty(conversion, given[place]) if place in unread else operands[place])
        for place in carries
    ]
    kinds = [carried_type(types[place]) for place in carries]
    loop = create("scf.for", kinds, [*bounds, index_constant(1), *initial], regions=1)
    block, operations, last = moved_block(
        conversion, body, loop.regions[0], [ir.IndexType.get(), *kinds]
    )
    index, *given = block.arguments
    with ir.InsertionPoint.at_block_begin(block):
        counter = create("arith.index_cast", [count.first.type], [index]).result
        conversion.define(arguments[count.counter], Number(counter))
        take_arguments(conversion, [arguments[place] for place in carries], given)
    if count.range is not None:
        conversion.bounds[counter] = count.range[0], count.range[1] - 1
    for place in count.unchanged:
        conversion.define(arguments[place], operands[place])
    conversion.operations(operations)
    results = conversion.results_of(last)
    _finish(block, [results[place] for place in carries])
    after = iter(loop.results)
    end = create("arith.maxsi", [count.first.type], [count.first, count.limit]).result
    return [
        Number(end)
        if place == count.counter
        else operands[place]
        if place in count.unchanged
        else uncarried(next(after), kind)
        for place, kind in enumerate(types)
    ]


def _converted(
    conversion: Conversion, block: Any, region: Any, kinds: Sequence[ir.Type]
) -> tuple[Any, list[Value]]:
    """A block moved into a region and converted, and what it hands on."""
    arguments = list(block.arguments)
    new, operations, last = moved_block(conversion, block, region, kinds)
    with ir.InsertionPoint.at_block_begin(new):
        take_arguments(conversion, arguments, list(new.arguments))
    conversion.operations(operations)
    return new, conversion.results_of(last)


def _finish(block: Any, results: Sequence[Value]) -> None:
    """Poll at the beginning of a turn, and hand on what it gives at the end."""
    with ir.InsertionPoint.at_block_begin(block):
        create("runtime.poll")
    with ir.InsertionPoint(block):
        create("scf.yield", [], [carried(value) for value in results])


def _empty(conversion: Conversion, like: Any) -> ir.Value:
    """An array with the type and the sizes of another one, whose elements nobody reads."""
    kind, sizes = like.type, list[ir.Value]()
    if not kind.has_static_shape:
        numbers = numbers_in(conversion, like.owner.operands[1]) or []
        sizes = [
            _as_index(number) for axis, number in enumerate(numbers) if kind.is_dynamic_dim(axis)
        ]
    return create("tensor.empty", [kind], sizes).result


def _as_index(number: ir.Value) -> ir.Value:
    return create("arith.index_cast", [ir.IndexType.get()], [number]).result


def _case(conversion: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value]:
    """Nested `scf.if`, each between two halves.

    `one-shot-bufferize` (LLVM 23) overlooks that the result of an `scf.index_switch` is one of the
    arrays that its branches yield, and overwrites it; and its time grows with a high power of the
    depth. An index out of range chooses the last branch.
    """
    types = [result.type for result in operation.results]
    kinds = [carried_type(kind) for kind in types]
    number = scalar_of(operands[0])
    blocks = [region.blocks[0] for region in operation.regions]

    def chosen(first: int, last: int, region: Any) -> None:
        """Fill a region of an `scf.if` with one of the branches."""
        if last - first == 1:
            new, results = _converted(conversion, blocks[first], region, [])
            with ir.InsertionPoint(new):
                create("scf.yield", [], [carried(value) for value in results])
            return
        with ir.InsertionPoint(region.blocks.append()):
            create("scf.yield", [], list(choice(first, last).results))

    def choice(first: int, last: int) -> Any:
        middle = (first + last) // 2
        bound = ir.IntegerAttr.get(number.type, middle)
        limit = create("arith.constant", [number.type], [], {"value": bound}).result
        predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _UNSIGNED_BELOW)
        flag = ir.IntegerType.get_signless(1)
        # Unsigned: a negative index is above all others.
        is_below = create("arith.cmpi", [flag], [number, limit], {"predicate": predicate}).result
        made = create("scf.if", kinds, [is_below], regions=2)
        for region, half in zip(made.regions, ((first, middle), (middle, last)), strict=True):
            chosen(*half, region)
        return made

    if len(blocks) == 1:
        *operations, last = list(blocks[0].operations)
        for own in operations:
            own.operation.move_before(operation)
        conversion.operations(operations)
        return conversion.results_of(last)
    results = choice(0, len(blocks)).results
    return [uncarried(own, kind) for own, kind in zip(results, types, strict=True)]


RULES: dict[str, Rule] = {"stablehlo.while": _while, "stablehlo.case": _case}
