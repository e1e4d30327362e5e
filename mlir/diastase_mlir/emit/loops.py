"""Structured control flow (`scf`), and cumulative loops over arrays.

What a loop carries, and what a branch gives, are values of any type. `Scope.region` enters a block;
whoever emits may keep more than the insertion point by it.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from diastase_mlir.emit.bindings import ir
from diastase_mlir.emit.operations import (
    compare_integers,
    create,
    enumeration,
    index_binary,
    index_constant,
    index_type,
    scalar_constant,
    select,
    to_type,
)
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    box,
    element_type,
    empty,
    extract,
    generate,
    generic,
    insert,
)

Values = list[ir.Value]


class Scope(Protocol):
    """Who emits."""

    def region(self, block: ir.Block) -> AbstractContextManager[None]:
        """Emit at the end of a block."""
        ...


def under_type(value: ir.Value, value_type: ir.Type) -> ir.Value:
    """A value, or a scalar for an array of rank 0, as a value of exactly this type."""
    if isinstance(value_type, ir.RankedTensorType) and not isinstance(
        value.type, ir.RankedTensorType
    ):
        value = box(value)
    return to_type(value, value_type)


def append_block(region: ir.Region, types: Sequence[ir.Type]) -> ir.Block:
    """A block with arguments of these types."""
    return region.blocks.append(*types, arg_locs=[ir.Location.current] * len(types))


def for_range(
    scope: Scope,
    bounds: tuple[Size, Size, Size],
    initial: Sequence[ir.Value],
    body: Callable[[ir.Value, Values], Sequence[ir.Value]],
    typed: Callable[[ir.Value, ir.Type], ir.Value] = under_type,
) -> Values:
    """`for index in range(lower, upper, step)` with a positive step; carries are any values.

    `typed` gives what the body yields the types of what is carried.
    """
    types = [value.type for value in initial]
    operands = [*map(as_index, bounds), *initial]
    operation = create("scf.for", types, operands, regions=1)
    block = append_block(operation.regions[0], [index_type(), *types])
    with scope.region(block):
        arguments: list[Any] = list(block.arguments)
        create("scf.yield", [], [*map(typed, body(arguments[0], arguments[1:]), types)])
    return list(operation.results)


def for_each(
    scope: Scope,
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
            scope, bounds, carries, lambda index, inner: nest([*position, index], inner)
        )

    return list(nest([], list(initial)))


def while_true(
    scope: Scope,
    initial: Sequence[ir.Value],
    condition: Callable[[Values], ir.Value],
    body: Callable[[Values], Sequence[ir.Value]],
    typed: Callable[[ir.Value, ir.Type], ir.Value] = under_type,
) -> Values:
    """While the condition (an `i1` computed from the carries, emitted after the body) holds."""
    types = [value.type for value in initial]
    operation = create("scf.while", types, initial, regions=2)
    before, after = (append_block(region, types) for region in operation.regions)
    with scope.region(after):
        create("scf.yield", [], [*map(typed, body(list(after.arguments)), types)])
    with scope.region(before):
        proceed = condition(list(before.arguments))
        create("scf.condition", [], [proceed, *before.arguments])
    return list(operation.results)


def if_else(
    scope: Scope,
    condition: ir.Value,
    types: Sequence[ir.Type],
    if_true: Callable[[], Sequence[ir.Value]],
    if_false: Callable[[], Sequence[ir.Value]],
) -> Values:
    """One of two regions, by an `i1`."""
    operation = create("scf.if", types, [condition], regions=2)
    for region, branch in zip(operation.regions, (if_true, if_false), strict=True):
        with scope.region(append_block(region, [])):
            create("scf.yield", [], [*map(under_type, branch(), types)])
    return list(operation.results)


def when(scope: Scope, condition: ir.Value, body: Callable[[], None]) -> None:
    """A region that is run for its effects, if the condition (an `i1`) holds."""
    operation = create("scf.if", [], [condition], regions=2)
    with scope.region(append_block(operation.regions[0], [])):
        body()
        create("scf.yield", [], [])


def one_of(
    scope: Scope,
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
        scope,
        is_below,
        types,
        lambda: one_of(scope, index, types, branches[:half], first),
        lambda: one_of(scope, index, types, branches[half:], first + half),
    )


Combination = Callable[[ir.Value, ir.Value], ir.Value]
"""Of the result so far and the next element, both scalars."""


def running(
    scope: Scope,
    array: ir.Value,
    sizes: Sequence[Size],
    axis: int,
    combine: Combination,
    backwards: bool,
) -> ir.Value:
    """Each element combined with all before it (`backwards`: after it) along an axis."""
    if len(sizes) == 1:
        return _along_line(scope, array, sizes[0], combine, backwards)
    if not backwards:
        return _along_lines(array, sizes, axis, combine)
    turned = _reversed(array, sizes, axis)
    return _reversed(_along_lines(turned, sizes, axis, combine), sizes, axis)


def _along_line(
    scope: Scope, array: ir.Value, size: Size, combine: Combination, backwards: bool
) -> ir.Value:
    """A loop that carries the result so far."""
    element = element_type(array)
    last = index_binary("subi", as_index(size), index_constant(1))

    def step(index: ir.Value, inner: Values) -> Values:
        total, result = inner
        place = index_binary("subi", last, index) if backwards else index
        value = extract(array, [place])
        total = _next(index, total, value, combine)
        return [total, insert(total, result, [place])]

    initial = [scalar_constant(element, 0), empty([size], element)]
    return for_range(scope, (0, size, 1), initial, step)[1]


def _next(index: ir.Value, total: ir.Value, value: ir.Value, combine: Combination) -> ir.Value:
    """The result at a place: at the first, the element itself."""
    is_first = compare_integers("eq", index, index_constant(0))
    return select(is_first, value, combine(total, value))


def _along_lines(
    array: ir.Value, sizes: Sequence[Size], axis: int, combine: Combination
) -> ir.Value:
    """Many lines at once: the results so far are an array, and no line minds the others."""
    rank, element = len(sizes), element_type(array)
    whole = ir.AffineMap.get_identity(rank)
    others = [number for number in range(rank) if number != axis]
    across = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(number) for number in others])

    def body(elements: list[ir.Value]) -> list[ir.Value]:
        value, total, _ = elements
        index = create("linalg.index", [index_type()], [], {"dim": enumeration(axis)}).result
        return [_next(index, total, value, combine)] * 2

    targets = [empty([sizes[number] for number in others], element), empty(sizes, element)]
    are_parallel = [number != axis for number in range(rank)]
    return generic([array], targets, [whole, across, whole], are_parallel, body)[1]


def _reversed(array: ir.Value, sizes: Sequence[Size], axis: int) -> ir.Value:
    last = index_binary("subi", as_index(sizes[axis]), index_constant(1))

    def formula(position: list[ir.Value]) -> ir.Value:
        place = index_binary("subi", last, position[axis])
        return extract(array, [*position[:axis], place, *position[axis + 1 :]])

    return generate(sizes, element_type(array), formula)
