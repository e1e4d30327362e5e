"""Running combinations: each element of an array combined with all before it, along an axis.

Elements are combined one after another, on whatever thread.
"""

from collections.abc import Callable, Sequence

from diastase_mlir.emit.bindings import ir
from diastase_mlir.emit.loops import Scope, Values, for_range
from diastase_mlir.emit.operations import (
    compare_integers,
    create,
    enumeration,
    index_binary,
    index_constant,
    index_type,
    scalar_constant,
    select,
)
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    empty,
    extract,
    generate,
    generic,
    insert,
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
