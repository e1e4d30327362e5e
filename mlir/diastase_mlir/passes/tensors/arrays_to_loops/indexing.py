"""Rules for `gather` and `scatter`: reading and writing at computed positions.

Both move *windows*. One axis of the indices is an index vector; every other axis of the indices is
a batch axis. For each batch position the vector names where a window starts in the operand, and
`Windows` holds which axis of what means what. A gather moves a window that does not fit inside the
operand, a scatter writes nothing for it.

Indices that are unsigned or narrow are widened first, so that comparisons are signed and exact.
Where index vectors are put together of columns, as those of `x[i, j]` are, the columns are read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import GatherDimensionNumbers, ScatterDimensionNumbers, ir
from diastase_mlir.emit.loops import Values, for_each, if_else
from diastase_mlir.emit.operations import (
    all_of,
    clamp_index,
    compare_integers,
    create,
    index_binary,
    index_constant,
    index_type,
    to_signless,
)
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    extract,
    generate,
    insert,
    sizes_of,
    tensor_type,
)
from diastase_mlir.passes.operations import SCOPE, defining, number_in
from diastase_mlir.passes.tensors.arrays_to_loops.rules import (
    Rule,
    function_of,
    minus,
    numbers,
    signless_operands,
)

Position = Sequence[ir.Value]


@dataclass(frozen=True)
class Windows:
    """How windows lie in an operand of `rank` axes."""

    rank: int
    indexed: Sequence[int]
    """Operand axes whose start the index vector gives, in its order."""
    spanned: Sequence[int]
    """Operand axes along which a window extends, in the order of the window's axes."""
    batched: Sequence[tuple[int, int]]
    """Pairs (operand axis, batch axis of the indices) that advance together."""
    lasts: Sequence[Size]
    """Last valid start for each of `indexed`; negative where no window fits."""
    columns: Sequence[ir.Value]
    """The indices; or each component of the index vectors as an array of its own."""
    vector: int
    """Which axis of the indices is the vector; none where it is their number."""
    unsigned: bool

    def starts(self, batch: Position) -> list[ir.Value]:
        """The index vector at a batch position."""
        found: list[ir.Value] = []
        for component in range(len(self.indexed)):
            whole = len(self.columns) == 1
            column = self.columns[0 if whole else component]
            place = list(batch)
            if self.vector < tensor_type(column).rank:
                place.insert(self.vector, index_constant(component if whole else 0))
            # An unsigned number of 2**63 or more comes out negative.
            name = "arith.index_castui" if self.unsigned else "arith.index_cast"
            found.append(create(name, [index_type()], [extract(column, place)]).result)
        return found

    def position(self, starts: Position, batch: Position, offset: Position) -> list[ir.Value]:
        """The operand's position for an offset inside a window."""
        position = [index_constant(0)] * self.rank
        for axis, start in zip(self.indexed, starts, strict=True):
            position[axis] = start
        for axis, batch_axis in self.batched:
            position[axis] = batch[batch_axis]
        for axis, step in zip(self.spanned, offset, strict=True):
            position[axis] = index_binary("addi", position[axis], step)
        return position


def _rest(rank: int, *taken: Sequence[int]) -> list[int]:
    """The axes not taken, in order."""
    gone = {axis for axes in taken for axis in axes}
    return [axis for axis in range(rank) if axis not in gone]


def _batch_pairs(
    operand_axes: Sequence[int], index_axes: Sequence[int], vector: int
) -> list[tuple[int, int]]:
    """Axes that advance together; of the indices' axes, the vector's is no batch axis."""
    places = [axis - (axis > vector) for axis in index_axes]
    return list(zip(operand_axes, places, strict=True))


def _lasts(sizes: Sequence[Size], extents: Sequence[Size], axes: Sequence[int]) -> list[Size]:
    """The last start along each of the axes for which a window of these extents fits."""
    return [minus(sizes[axis], extents[axis]) for axis in axes]


def _columns(indices: ir.Value, vector: int) -> list[ir.Value]:
    """What the indices were put together of, if each part is one component; or they alone."""
    maker = defining(indices)
    if maker is None or maker.name != "stablehlo.concatenate":
        return [to_signless(indices)]
    parts = list(maker.operands)
    is_along = ir.IntegerAttr(maker.attributes["dimension"]).value == vector
    if is_along and all(tensor_type(part).shape[vector] == 1 for part in parts):
        return [to_signless(part) for part in parts]
    return [to_signless(indices)]


def _gather(operation: Any) -> Sequence[ir.Value] | None:
    """Windows read at computed positions, which are moved so that the windows fit."""
    axes = GatherDimensionNumbers(operation.attributes["dimension_numbers"])
    operand, indices, *slice_sizes = signless_operands(operation)
    sizes, rank = sizes_of(operand), len(operand.type.shape)
    if 0 in sizes and 0 not in operation.results[0].type.shape:
        return None
    if slice_sizes:
        extents = [number_in(slice_sizes[0], axis) for axis in range(rank)]
    else:
        extents = numbers(operation, "slice_sizes")
    result_rank, vector = len(operation.results[0].type.shape), axes.index_vector_dim
    windows = Windows(
        rank,
        axes.start_index_map,
        _rest(rank, axes.collapsed_slice_dims, axes.operand_batching_dims),
        _batch_pairs(axes.operand_batching_dims, axes.start_indices_batching_dims, vector),
        _lasts(sizes, extents, axes.start_index_map),
        _columns(operation.operands[1], vector),
        vector,
        _is_unsigned(operation.operands[1]),
    )
    batch_axes = _rest(result_rank, axes.offset_dims)
    window_sizes = [extents[axis] for axis in windows.spanned]
    batch_sizes = sizes_of(indices)[: len(batch_axes) + 1]
    if len(batch_sizes) > len(batch_axes):
        batch_sizes.pop(vector)
    parts = {**_at(axes.offset_dims, window_sizes), **_at(batch_axes, batch_sizes)}

    def element(position: list[ir.Value]) -> ir.Value:
        batch = [position[axis] for axis in batch_axes]
        offset = [position[axis] for axis in axes.offset_dims]
        starts = [
            clamp_index(start, as_index(last), windows.unsigned)
            for start, last in zip(windows.starts(batch), windows.lasts, strict=True)
        ]
        return extract(operand, windows.position(starts, batch, offset))

    return [generate([parts[axis] for axis in range(result_rank)], element_type(operand), element)]


def _scatter(operation: Any) -> Sequence[ir.Value] | None:
    """Windows written, or combined with what is there, at computed positions, in order."""
    axes = ScatterDimensionNumbers(operation.attributes["scatter_dimension_numbers"])
    values, count = signless_operands(operation), len(operation.results)
    operands, updates = values[:count], values[count + 1 :]
    rank, vector = len(operands[0].type.shape), axes.index_vector_dim
    update_sizes, window_axes = sizes_of(updates[0]), axes.update_window_dims
    batch_axes = _rest(len(update_sizes), window_axes)
    spanned = _rest(rank, axes.inserted_window_dims, axes.input_batching_dims)
    window_sizes = [update_sizes[axis] for axis in window_axes]
    across = _at(spanned, window_sizes)
    extents = [across.get(axis, 1) for axis in range(rank)]
    windows = Windows(
        rank,
        axes.scattered_dims_to_operand_dims,
        spanned,
        _batch_pairs(axes.input_batching_dims, axes.scatter_indices_batching_dims, vector),
        _lasts(sizes_of(operands[0]), extents, axes.scattered_dims_to_operand_dims),
        _columns(operation.operands[count], vector),
        vector,
        _is_unsigned(operation.operands[count]),
    )
    combine = function_of(operation.regions[0])

    def at_batch(batch: Values, carry: Values) -> Values:
        starts = windows.starts(batch)

        def at_offset(offset: Values, inner: Values) -> Values:
            target = windows.position(starts, batch, offset)
            places = {**_at(batch_axes, batch), **_at(window_axes, offset)}
            source = [places[axis] for axis in sorted(places)]
            before = [extract(array, target) for array in inner]
            after = combine(*before, *(extract(array, source) for array in updates))
            return [
                insert(number, array, target) for number, array in zip(after, inner, strict=True)
            ]

        def write() -> Values:
            return for_each(SCOPE, window_sizes, carry, at_offset)

        fits = [
            compare_integers(predicate, start, bound)
            for start, last in zip(starts, windows.lasts, strict=True)
            for predicate, bound in (("sge", index_constant(0)), ("sle", as_index(last)))
        ]
        if not fits:
            return write()
        return if_else(SCOPE, all_of(fits), [v.type for v in carry], write, lambda: list(carry))

    return for_each(SCOPE, [update_sizes[axis] for axis in batch_axes], operands, at_batch)


def _at(axes: Sequence[int], parts: Sequence[Any]) -> Mapping[int, Any]:
    """What belongs to each of the axes."""
    return dict(zip(axes, parts, strict=True))


def _is_unsigned(value: Any) -> bool:
    return value.type.element_type.is_unsigned


RULES: dict[str, Rule] = {
    "stablehlo.gather": _gather,
    "stablehlo.dynamic_gather": _gather,
    "stablehlo.scatter": _scatter,
}
