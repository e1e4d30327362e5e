"""Rules for StableHLO's loops and branches, which become structured control flow.

A `while` that counts is an `scf.for`: its condition compares one carry with a value that the loop
does not change, and its body adds 1 to that carry. What the body hands on as it got it is no carry.

    stablehlo.while(%k = %0, %x = %a)             scf.for %k = 0 to %n iter_args(%x = %a) {
      cond { %k < %n }                      ->      runtime.poll
      do { …; return %k + 1, %y }                   …; scf.yield %y }

All these loops are the user's, who may want to interrupt them: each turn begins with a poll, and
one that does not count ends where an error is recorded, as the values that would end it may never
come. An array all of whose rows a loop sets (`rows_set`) need not hold anything before it. Whether
a loop counts, and what it sets, is read from the operations, whoever has written them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import ir, load
from diastase_mlir.dialects.runtime import RUNTIME
from diastase_mlir.emit.loops import one_of
from diastase_mlir.emit.operations import (
    binary,
    create,
    index_constant,
    index_type,
    scalar_constant,
)
from diastase_mlir.passes.operations import SCOPE, defining, last_of, to_index
from diastase_mlir.passes.tensors.scalarize.conversion import (
    Conversion,
    Number,
    Rule,
    Value,
    elements_of,
    scalar_of,
)
from diastase_mlir.passes.tensors.scalarize.regions import (
    carried,
    carried_type,
    converted_block,
    moved_block,
    take_arguments,
    uncarried,
    unless_failed,
)

Size = int | ir.Value

_COUNTING = frozenset({"stablehlo.constant", "stablehlo.compare", "stablehlo.return"})
"""All that may stand in a condition that is nothing but a comparison."""


@dataclass(frozen=True)
class Count:
    """How a loop counts."""

    counter: int
    """Which of the carries."""
    first: ir.Value
    limit: ir.Value
    """Scalars; the counter is below the limit in each turn."""
    range: tuple[int, int] | None
    """Both, where they are known and there are turns."""
    unchanged: frozenset[int]
    """Carries that the body hands on as it got them."""


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
    new, last = converted_block(conversion, condition, loop.regions[0])
    (proceeds,) = conversion.results_of(last)
    with ir.InsertionPoint(new):
        create("scf.condition", [], [unless_failed(carried(proceeds)), *new.arguments])
    new, last = converted_block(conversion, body, loop.regions[1])
    _finish(new, conversion.results_of(last))
    return [uncarried(own, kind) for own, kind in zip(loop.results, types, strict=True)]


def _counted(
    conversion: Conversion, operation: Any, operands: list[Value], count: Count
) -> Sequence[Value]:
    types, given = [result.type for result in operation.results], list(operation.operands)
    body = operation.regions[1].blocks[0]
    arguments = list(body.arguments)
    carries = [p for p in range(len(types)) if p not in {count.counter, *count.unchanged}]
    unread = rows_set(conversion, operation, count, carries)
    bounds = [to_index(number) for number in (count.first, count.limit)]
    initial = [
        carried(_empty(conversion, given[place]) if place in unread else operands[place])
        for place in carries
    ]
    kinds = [carried_type(types[place]) for place in carries]
    loop = create("scf.for", kinds, [*bounds, index_constant(1), *initial], regions=1)
    block, operations, last = moved_block(body, loop.regions[0], [index_type(), *kinds])
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
    end = binary("arith.maxsi", count.first, count.limit)
    return [
        Number(end)
        if place == count.counter
        else operands[place]
        if place in count.unchanged
        else uncarried(next(after), kind)
        for place, kind in enumerate(types)
    ]


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
            to_index(number) for axis, number in enumerate(numbers) if kind.is_dynamic_dim(axis)
        ]
    return create("tensor.empty", [kind], sizes).result


def _case(conversion: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value]:
    """Nested `scf.if`, each between two halves (`one_of`)."""
    types = [result.type for result in operation.results]

    def branch(region: Any) -> Callable[[], list[ir.Value]]:
        *inner, last = list(region.blocks[0].operations)

        def emit() -> list[ir.Value]:
            point: Any = ir.InsertionPoint.current
            for own in inner:
                own.operation.detach_from_parent()
                point.insert(own.operation)
            conversion.operations(inner)
            return [carried(value) for value in conversion.results_of(last)]

        return emit

    number, branches = to_index(scalar_of(operands[0])), [*map(branch, operation.regions)]
    results = one_of(SCOPE, number, [carried_type(kind) for kind in types], branches)
    return [uncarried(own, kind) for own, kind in zip(results, types, strict=True)]


RULES: dict[str, Rule] = {"stablehlo.while": _while, "stablehlo.case": _case}


# --- how a loop counts, and what it sets ---------------------------------------------------------


def count_of(conversion: Conversion, loop: Any, operands: Sequence[Value]) -> Count | None:
    """How a `while` counts, if it does; emits its limit before it."""
    condition, body = (region.blocks[0] for region in loop.regions)
    comparison = _comparison(condition)
    if comparison is None:
        return None
    counted, limit = comparison.operands
    counter = _argument(counted, condition)
    if counter is None or conversion.kind(counted.type) != "integer":
        return None
    returned, arguments = list(returned_by(body)), list(body.arguments)
    if not _is_next(returned[counter], arguments[counter]):
        return None
    unchanged = frozenset(
        place
        for place, (own, after) in enumerate(zip(arguments, returned, strict=True))
        if own == after
    )
    known = constant(limit)
    place = _argument(limit, condition)
    if known is not None:
        bound = _constant_like(operands[counter], known)
    elif place is not None:
        bound = scalar_of(operands[place]) if place in unchanged else None
    else:
        bound = scalar_of(conversion.value(limit))
    if bound is None:
        return None
    first = scalar_of(operands[counter])
    begin = conversion.bounds.get(first)
    end = (known, known) if known is not None else conversion.bounds.get(bound)
    turns = None
    if begin is not None and end is not None and begin[0] == begin[1] < end[0] == end[1]:
        turns = begin[0], end[0]
    return Count(counter, first, bound, turns, unchanged)


def rows_set(conversion: Conversion, loop: Any, count: Count, places: Sequence[int]) -> set[int]:
    """Which carries are arrays of which each turn sets the row of its number, or from the end.

    Nothing else reads or writes them, and all rows get their turn: what they hold before is lost.
    """
    if conversion.bounds.get(count.first) != (0, 0):
        return set()
    body = loop.regions[1].blocks[0]
    returned = list(returned_by(body))
    return {
        place
        for place in places
        if _is_only_replaced_in(body.arguments[place], returned[place])
        and _sets_rows(conversion, loop, count, place)
    }


def _is_only_replaced_in(array: Any, after: Any) -> bool:
    """Whether all that happens to an array in a turn is that a part of it is replaced."""
    uses = list(array.uses)
    update = defining(after)
    if update is None or update.name != "stablehlo.dynamic_update_slice" or len(uses) != 1:
        return False
    if uses[0].owner.operation != update or update.operands[0] != array:
        return False
    return len(list(after.uses)) == 1


def _sets_rows(conversion: Conversion, loop: Any, count: Count, place: int) -> bool:
    """Whether the part is a whole row, its number the turn's, and there is a turn for each."""
    body, turns = loop.regions[1].blocks[0], _size(conversion, count.limit)
    update = defining(returned_by(body)[place])
    whole = _sizes_of(conversion, loop.operands[place])
    part = _sizes_of(conversion, update.operands[1])
    pairs = zip(whole, part, strict=True)
    partial = [axis for axis, pair in enumerate(pairs) if not _are_same(*pair)]
    if not partial:
        return count.range is not None
    row = part[partial[0]]
    if len(partial) > 1 or not _are_same(row, 1) or not _are_same(whole[partial[0]], turns):
        return False
    start, counter = update.operands[2 + partial[0]], body.arguments[count.counter]
    if start == counter:
        return True
    made_by = defining(start)
    if made_by is None or made_by.name != "stablehlo.subtract":
        return False
    last, own = made_by.operands
    return own == counter and _is_last(conversion, last, turns)


def _is_last(conversion: Conversion, number: Any, turns: Size | None) -> bool:
    """Whether a number is one less than that of the turns."""
    if isinstance(turns, int):
        return constant(number) == turns - 1
    value = conversion.value(number)
    difference = defining(value.scalar) if isinstance(value, Number) else None
    if difference is None or difference.name != "arith.subi":
        return False
    limit, one = (_size(conversion, operand) for operand in difference.operands)
    return _are_same(limit, turns) and _are_same(one, 1)


def _size(conversion: Conversion, scalar: ir.Value) -> Size:
    """A number that is known, or the scalar that it is."""
    least, most = conversion.bounds.get(scalar, (0, 1))
    return least if least == most else scalar


def _are_same(left: Size | None, right: Size | None) -> bool:
    """Whether two sizes, of which nothing may be known, are certainly equal."""
    if isinstance(left, int) or isinstance(right, int):
        return isinstance(left, int) and isinstance(right, int) and left == right
    return left is not None and right is not None and left == right


def _sizes_of(conversion: Conversion, array: Any) -> list[Size | None]:
    """The sizes of an array, where it is seen how it is made."""
    kind, made_by = array.type, defining(array)
    given = None
    if made_by is not None and made_by.name == "stablehlo.dynamic_broadcast_in_dim":
        given = numbers_in(conversion, made_by.operands[1])
    sizes: list[Size | None] = []
    for axis in range(kind.rank):
        if not kind.is_dynamic_dim(axis):
            sizes.append(kind.get_dim_size(axis))
        else:
            sizes.append(None if given is None else _size(conversion, given[axis]))
    return sizes


def numbers_in(conversion: Conversion, vector: Any) -> list[ir.Value] | None:
    """The numbers, scalars, of which a vector is made."""
    value = conversion.value(vector)
    numbers = elements_of(value)
    if numbers is None and isinstance(value, ir.Value):
        made_by = defining(value)
        if made_by is not None and made_by.name == "tensor.from_elements":
            return list(made_by.operands)
    return numbers


def returned_by(block: Any) -> Any:
    """What a block hands on."""
    return last_of(block).operands


def constant(value: ir.Value) -> int | None:
    """The integer that a constant of rank 0 is."""
    made_by = defining(value)
    if made_by is None or made_by.name != "stablehlo.constant":
        return None
    kind: Any = value.type
    if kind.rank or not isinstance(kind.element_type, ir.IntegerType):
        return None
    number: Any = ir.DenseElementsAttr(made_by.attributes["value"]).get_splat_value()
    return int(number.value)


def _comparison(condition: Any) -> Any:
    """The comparison that a condition is, if it is `<` and nothing else."""
    if any(view.operation.name not in _COUNTING for view in condition.operations):
        return None
    comparison = defining(returned_by(condition)[0])
    if comparison is None or comparison.name != "stablehlo.compare":
        return None
    direction = str(comparison.attributes["comparison_direction"])
    return comparison if direction.endswith(" LT>") else None


def _argument(value: Any, block: Any) -> int | None:
    """Which argument of a block a value is."""
    owner = value.owner
    if isinstance(owner, ir.Block) and owner == block:
        return ir.BlockArgument(value).arg_number
    return None


def _is_next(value: Any, counter: Any) -> bool:
    made_by = defining(value)
    if made_by is None or made_by.name != "stablehlo.add":
        return False
    left, right = made_by.operands
    return (left == counter and constant(right) == 1) or (right == counter and constant(left) == 1)


def _constant_like(value: Value, number: int) -> ir.Value:
    return scalar_constant(scalar_of(value).type, number)
