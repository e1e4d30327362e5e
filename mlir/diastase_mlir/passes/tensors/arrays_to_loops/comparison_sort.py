"""Sorting by any comparison: a stable bottom-up merge sort of positions, along one axis.

For every line of the array along the axis, a permutation of its positions is sorted, then applied
to all operands. Runs of `width` sorted positions are merged in pairs from one buffer into another,
and `width` doubles.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import Values, for_each, for_range, if_else, while_true
from diastase_mlir.emit.operations import (
    all_of,
    compare_integers,
    flag_constant,
    index_binary,
    index_constant,
    index_type,
    negate,
    select,
)
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    empty,
    extract,
    generate,
    insert,
    sizes_of,
)
from diastase_mlir.passes.operations import SCOPE
from diastase_mlir.passes.tensors.arrays_to_loops.rules import function_of, signless_operands

Less = Callable[[ir.Value, ir.Value], ir.Value]
"""Whether the element at one position comes strictly before that at another."""


def sort_by_comparison(operation: Any) -> Sequence[ir.Value]:
    """Operands sorted together along an axis, as the region of the operation says."""
    axis = ir.IntegerAttr(operation.attributes["dimension"]).value
    arrays, precedes = signless_operands(operation), function_of(operation.regions[0])
    sizes = sizes_of(arrays[0])
    others = [size for number, size in enumerate(sizes) if number != axis]
    results = [empty(sizes, element_type(array)) for array in arrays]

    def line(position: Values, carry: Values) -> Values:
        def at(index: ir.Value) -> list[ir.Value]:
            return [*position[:axis], index, *position[axis:]]

        def less(left: ir.Value, right: ir.Value) -> ir.Value:
            places = (at(left), at(right))
            return precedes(*(extract(array, own) for array in arrays for own in places))[0]

        order = _sorted_positions(sizes[axis], less)

        def move(index: ir.Value, inner: Values) -> Values:
            source = at(extract(order, [index]))
            return [
                insert(extract(array, source), result, at(index))
                for array, result in zip(arrays, inner, strict=True)
            ]

        return for_range(SCOPE, (0, sizes[axis], 1), carry, move)

    return for_each(SCOPE, others, results, line)


def _sorted_positions(length: Size, less: Less) -> ir.Value:
    """The positions `0..length-1` as a tensor of indices, in stable order of their elements."""
    positions = generate([length], index_type(), lambda position: position[0])
    buffer = empty([length], index_type())
    end = as_index(length)

    def double(carry: Values) -> Values:
        width, source, target = carry
        twice = index_binary("addi", width, width)

        def merge_at(start: ir.Value, inner: Values) -> Values:
            middle = index_binary("minsi", index_binary("addi", start, width), end)
            stop = index_binary("minsi", index_binary("addi", start, twice), end)
            return [_merge(source, inner[0], (start, middle, stop), less)]

        (merged,) = for_range(SCOPE, (0, end, twice), [target], merge_at)
        return [twice, merged, source]

    def unsorted(carry: Values) -> ir.Value:
        return compare_integers("slt", carry[0], end)

    initial = [index_constant(1), positions, buffer]
    return while_true(SCOPE, initial, unsorted, double)[1]


def _merge(
    source: ir.Value, target: ir.Value, bounds: tuple[ir.Value, ir.Value, ir.Value], less: Less
) -> ir.Value:
    """Merge the runs `start..middle` and `middle..stop`; of equal elements the left comes first."""
    start, middle, stop = bounds
    flag = flag_constant(True).type
    one = index_constant(1)

    def step(index: ir.Value, inner: Values) -> Values:
        left, right, result = inner

        def compare() -> Values:
            return [negate(less(extract(source, [right]), extract(source, [left])))]

        has_left = compare_integers("slt", left, middle)
        has_right = compare_integers("slt", right, stop)
        both = all_of([has_left, has_right])
        # With one run used up, the other is taken; no element is read beyond a run.
        (take_left,) = if_else(SCOPE, both, [flag], compare, lambda: [has_left])
        taken = extract(source, [select(take_left, left, right)])
        return [
            select(take_left, index_binary("addi", left, one), left),
            select(take_left, right, index_binary("addi", right, one)),
            insert(taken, result, [index]),
        ]

    return for_range(SCOPE, (start, stop, 1), [start, middle, target], step)[2]
