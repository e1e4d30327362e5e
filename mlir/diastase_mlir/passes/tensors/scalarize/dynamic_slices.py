"""Rules for parts of arrays at computed places: read, or replaced by other values.

A part is a slice of `tensor`. Its place is moved so that the part lies inside the array, where it
is not known to lie there: the counter of a loop over all rows is. Sizes may be known at run time;
elements of such arrays may be unsigned, slices are of signless ones.

The trap: a part is read where the program reads it. Where its elements are needed, the array may
have been written over.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from diastase_mlir.bindings import GatherDimensionNumbers, ir
from diastase_mlir.emit.operations import (
    INSIDE,
    clamp_index,
    create,
    index_binary,
    index_constant,
    index_type,
    to_signless,
)
from diastase_mlir.emit.tensors import (
    DYNAMIC,
    Size,
    as_index,
    extract,
    extract_slice,
    insert,
    insert_slice,
    sizes_of,
)
from diastase_mlir.passes.operations import to_index
from diastase_mlir.passes.tensors.scalarize.conversion import (
    Conversion,
    Elements,
    Number,
    Reshaped,
    Rule,
    Value,
    materialised,
    scalar_of,
)
from diastase_mlir.passes.tensors.scalarize.movement import (
    is_movable,
    is_movable_type,
    is_signless,
    shape_wanted,
)
from diastase_mlir.passes.tensors.scalarize.regions import carried, uncarried


def _dynamic_slice(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    array, *starts = operands
    if not starts:  # of a number
        return [array]
    is_static = operation.operands[0].type.has_static_shape
    if is_static and not is_movable(operation):
        return None
    sizes = operation.results[0].type.shape
    return [_part(conversion, operation, array, dict(enumerate(starts)), sizes)]


def _gather(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    """A part at a single place, of an array of unknown sizes."""
    array, places, *given = operands
    whole, vector = (value.type for value in operation.operands[:2])
    if whole.has_static_shape or vector.rank != 1 or not is_signless(vector):
        return None
    axes = GatherDimensionNumbers(operation.attributes["dimension_numbers"])
    dropped, sizes = [*axes.collapsed_slice_dims], list[Size]()
    results = iter(operation.results[0].type.shape)
    for axis in range(whole.rank):
        size = 1 if axis in dropped else next(results)
        sizes.append(to_index(_element(given[0], axis)) if size == DYNAMIC else size)
    starts = {
        axis: Number(_element(places, place)) for place, axis in enumerate(axes.start_index_map)
    }
    return [_part(conversion, operation, array, starts, sizes, dropped)]


def _part(
    conversion: Conversion,
    operation: Any,
    array: Value,
    starts: Mapping[int, Value],
    sizes: Sequence[Size],
    dropped: Sequence[int] = (),
) -> Value:
    """A part without the axes that are dropped, from the beginning of those without a start."""
    tensor, kind = carried(array), operation.results[0].type
    own = sizes_of(tensor)
    offsets: list[Size] = [0] * len(own)
    for axis, start in starts.items():
        offsets[axis] = _offset(conversion, operation, start, own[axis], sizes[axis])
    if len(dropped) == len(own):
        return uncarried(extract(tensor, [*map(as_index, offsets)]), kind)
    if 0 not in sizes and not dropped and all(size == 1 for size in sizes) and is_signless(kind):
        number = Elements([extract(tensor, [*map(as_index, offsets)])])
        return number if len(sizes) == 1 else Reshaped(number.materialise(), kind.shape)
    # Nor the axes that the program drops next.
    wanted = kind.shape
    if not dropped and is_movable_type(kind):
        wanted = shape_wanted(operation, kind.shape)
    if wanted != kind.shape:
        dropped = _axes_left_out(kind.shape, wanted)
    offsets = _not_all_known(offsets, own, sizes)
    part = extract_slice(tensor, offsets, sizes, [1] * len(own), frozenset(dropped))
    return Reshaped(part, kind.shape) if wanted != kind.shape else uncarried(part, kind)


def _not_all_known(offsets: list[Size], own: Sequence[Size], sizes: Sequence[Size]) -> list[Size]:
    """Offsets of which one is computed, if the part may have gaps between its rows.

    MLIR casts a view with an offset that is known to be 0, and strides that are not known, to an
    array without gaps wherever one is asked for; it copies a view whose offset is not known.
    """
    for axis in range(1, len(own)):
        partly = not isinstance(own[axis], int) or own[axis] != sizes[axis]
        if partly and all(isinstance(offset, int) for offset in offsets):
            end = index_binary("subi", as_index(own[axis]), as_index(sizes[axis]))
            offsets[axis] = clamp_index(as_index(offsets[axis]), end, unsigned=False)
    return offsets


def _axes_left_out(shape: Sequence[int], wanted: Sequence[int]) -> list[int]:
    left = list(wanted)
    return [
        axis for axis, size in enumerate(shape) if not (left and left[0] == size and left.pop(0))
    ]


def _dynamic_update_slice(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    array, part, *starts = operands
    if not starts:
        return [part]
    whole, given = (value.type for value in operation.operands[:2])
    is_static = whole.has_static_shape and given.has_static_shape
    if is_static and not (is_movable(operation) and is_signless(given)):
        return None
    target = carried(array)
    own, sizes = sizes_of(target), list[Size](given.shape)
    if DYNAMIC in given.shape:
        sizes = sizes_of(materialised(part))
    offsets = [
        _offset(conversion, operation, *three) for three in zip(starts, own, sizes, strict=True)
    ]
    if all(size == 1 for size in given.shape):
        number = _only_element(part.source if isinstance(part, Reshaped) else part)
        return [uncarried(insert(number, target, [*map(as_index, offsets)]), whole)]
    # Without axes of size 1 that were added to it.
    if isinstance(part, Reshaped) and len(part.source.type.shape) < len(part.shape):
        part = part.source
    result = insert_slice(carried(part), target, offsets, sizes, [1] * len(own))
    return [uncarried(result, whole)]


def _only_element(part: Value) -> ir.Value:
    """The one number of an array, its integers signless."""
    return scalar_of(to_signless(part) if isinstance(part, ir.Value) else part)


def _offset(conversion: Conversion, operation: Any, start: Value, size: Size, taken: Size) -> Size:
    """A start as a place behind which so much of an axis of this size lies."""
    last = size - taken if isinstance(size, int) and isinstance(taken, int) else None
    if last == 0:
        return 0
    number = carried(start)
    bounds = conversion.bounds.get(number)
    if bounds is not None and bounds[0] == bounds[1] and (last is not None or bounds[0] == 0):
        return bounds[0] if last is None else min(max(bounds[0], 0), last)
    unsigned = not isinstance(start, Number) and not is_signless(materialised(start).type)
    name = "arith.index_castui" if unsigned else "arith.index_cast"
    place = create(name, [index_type()], [number]).result
    if INSIDE in operation.attributes:
        return place
    if bounds is not None and last is not None and 0 <= bounds[0] and bounds[1] <= last:
        return place
    if last is None:
        end = index_binary("subi", as_index(size), as_index(taken))
    else:
        end = index_constant(last)
    return clamp_index(place, end, unsigned)


def _element(vector: Value, place: int) -> ir.Value:
    """A number of a vector, as a scalar."""
    if isinstance(vector, Elements):
        return vector.scalars[place]
    return extract(materialised(vector), [index_constant(place)])


RULES: dict[str, Rule] = {
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.dynamic_gather": _gather,
    "stablehlo.gather": _gather,
}
