"""Parts, at computed places, of arrays some of whose sizes are known when the program runs.

What `places` does for known sizes: a part is a slice of `tensor`, moved so that it lies inside the
array, and read where the program reads it. Elements may be unsigned; slices are of signless ones.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from diastase_mlir.bindings import GatherDimensionNumbers, ir
from diastase_mlir.emit.operations import INSIDE, clamp_index, create, index_binary, to_signless
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
from diastase_mlir.passes.tensors.scalarize.conversion import (
    Conversion,
    Deferred,
    Elements,
    Number,
    Reshaped,
    Rule,
    Value,
    index_constant,
    materialised,
    scalar_of,
)
from diastase_mlir.passes.tensors.scalarize.loops import constant
from diastase_mlir.passes.tensors.scalarize.movement import (
    is_movable_type,
    is_signless,
    shape_wanted,
)
from diastase_mlir.passes.tensors.scalarize.regions import carried, uncarried


def part_read(operation: Any, operands: Sequence[Value]) -> Value:
    """The result of a `dynamic_slice`."""
    array, *starts = operands
    offsets = dict(enumerate(zip(operation.operands[1:], starts, strict=True)))
    return _part(operation, array, offsets, operation.results[0].type.shape)


def _gather(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    """A part at a single place."""
    array, places, *given = operands
    whole, vector = (value.type for value in operation.operands[:2])
    if whole.has_static_shape or vector.rank != 1 or not is_signless(vector):
        return None
    axes = GatherDimensionNumbers(operation.attributes["dimension_numbers"])
    dropped, sizes = [*axes.collapsed_slice_dims], list[Size]()
    results = iter(operation.results[0].type.shape)
    for axis in range(whole.rank):
        size = 1 if axis in dropped else next(results)
        sizes.append(_as_index(_element(given[0], axis)) if size == DYNAMIC else size)
    starts = {
        axis: (None, Number(_element(places, place)))
        for place, axis in enumerate(axes.start_index_map)
    }
    return [_part(operation, array, starts, sizes, dropped)]


def _part(
    operation: Any,
    array: Value,
    starts: Mapping[int, tuple[ir.Value | None, Value]],
    sizes: Sequence[Size],
    dropped: Sequence[int] = (),
) -> Value:
    """A part without the axes that are dropped, from the beginning of those without a start."""
    tensor, kind = carried(array), operation.results[0].type
    own = sizes_of(tensor)
    offsets: list[Size] = [0] * len(own)
    for axis, (given, start) in starts.items():
        offsets[axis] = _offset(operation, given, start, own[axis], sizes[axis])
    if len(dropped) == len(own):
        return uncarried(extract(tensor, [*map(as_index, offsets)]), kind)
    if 0 not in sizes and not dropped and all(size == 1 for size in sizes) and is_signless(kind):
        number = Elements([extract(tensor, [*map(as_index, offsets)])])
        return number if len(sizes) == 1 else Reshaped(number.materialise(), kind.shape)
    # Nor the axes that the program drops next.
    wanted = (
        kind.shape if dropped or not is_movable_type(kind) else shape_wanted(operation, kind.shape)
    )
    if wanted != kind.shape:
        dropped = _axes_left_out(kind.shape, wanted)
    ones = [1] * len(own)
    part = extract_slice(tensor, offsets, sizes, ones, frozenset(dropped))
    return Reshaped(part, kind.shape) if wanted != kind.shape else uncarried(part, kind)


def _axes_left_out(shape: Sequence[int], wanted: Sequence[int]) -> list[int]:
    left = list(wanted)
    return [
        axis for axis, size in enumerate(shape) if not (left and left[0] == size and left.pop(0))
    ]


def part_replaced(operation: Any, operands: Sequence[Value]) -> Value:
    """The result of a `dynamic_update_slice`."""
    array, part, *starts = operands
    target, kind = carried(array), operation.results[0].type
    shape = operation.operands[1].type.shape
    own, sizes = sizes_of(target), list[Size](shape)
    if DYNAMIC in shape:
        sizes = sizes_of(materialised(part))
    offsets = [
        _offset(operation, *four)
        for four in zip(operation.operands[2:], starts, own, sizes, strict=True)
    ]
    given = part.source if isinstance(part, Reshaped) else part
    if all(size == 1 for size in shape):
        number = _only_element(given)
        return uncarried(insert(number, target, [*map(as_index, offsets)]), kind)
    source = to_signless(materialised(given))
    if source.type.rank > len(shape):
        source = to_signless(materialised(part))
    return uncarried(insert_slice(source, target, offsets, sizes, [1] * len(own)), kind)


def _only_element(part: Value) -> ir.Value:
    if isinstance(part, Deferred):
        return scalar_of(part)
    tensor = to_signless(part)
    return extract(tensor, [index_constant(0)] * ir.RankedTensorType(tensor.type).rank)


def _offset(operation: Any, given: ir.Value | None, start: Value, size: Size, taken: Size) -> Size:
    """A start as a place for which so much of an axis of this size lies behind it."""
    if given is not None and constant(given) == 0:
        return 0
    if isinstance(size, int) and isinstance(taken, int) and size == taken:
        return 0
    tensor = given is not None and not isinstance(start, Number)
    unsigned = tensor and not is_signless(materialised(start).type)
    name = "arith.index_castui" if unsigned else "arith.index_cast"
    place = create(name, [ir.IndexType.get()], [carried(start)]).result
    if INSIDE in operation.attributes:
        return place
    last = index_binary("subi", as_index(size), as_index(taken))
    return clamp_index(place, last, unsigned)


def _element(vector: Value, place: int) -> ir.Value:
    """A number of a vector, as a scalar."""
    if isinstance(vector, Elements):
        return vector.scalars[place]
    return extract(materialised(vector), [index_constant(place)])


def _as_index(number: ir.Value) -> ir.Value:
    return create("arith.index_cast", [ir.IndexType.get()], [number]).result


RULES: dict[str, Rule] = {"stablehlo.dynamic_gather": _gather, "stablehlo.gather": _gather}
