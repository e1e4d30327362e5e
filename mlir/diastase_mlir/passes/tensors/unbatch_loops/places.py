"""Places in arrays of a loop: along axes of the batch, and in loops that are written out."""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import flag_constant, index_constant
from diastase_mlir.passes.operations import constant_of
from diastase_mlir.passes.tensors.unbatch_loops.values import Batch, Refused, positions, row_major

MOST_COPIES = 64
"""Of a loop's body that is written out."""
_FOLDED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.minsi": min,
    "arith.maxsi": max,
}
_COMPARED: dict[int, Callable[[int, int], bool]] = {
    0: lambda left, right: left == right,
    1: lambda left, right: left != right,
    2: lambda left, right: left < right,
    3: lambda left, right: left <= right,
    4: lambda left, right: left > right,
    5: lambda left, right: left >= right,
    6: lambda left, right: left < right,
    7: lambda left, right: left <= right,
    8: lambda left, right: left > right,
    9: lambda left, right: left >= right,
}
"""By the number of `arith.cmpi`'s predicate; indices are not negative."""


class Indices:
    """Indices that are known where loops are written out, and those along the batch."""

    def __init__(self, batch: Batch):
        self._batch = batch
        self.known: dict[ir.Value, int] = {}
        """Also what is computed of them."""
        self._axes: dict[ir.Value, int] = {}

    def define(self, operation: Any, place: Sequence[int]) -> None:
        """Say what a `linalg.index` is at a place along the loops that are written out."""
        loop, result = ir.IntegerAttr(operation.attributes["dim"]).value, operation.results[0]
        if loop >= self._batch.rank:
            self._know(result, place[loop - self._batch.rank])
            return
        with ir.InsertionPoint.at_block_begin(self._batch.block):
            index = operation.clone().operation.results[0]
        self._axes[result] = loop
        self._batch.define(result, [index])

    def _know(self, value: ir.Value, number: int) -> None:
        self.known[value] = number
        if isinstance(value.type, ir.IndexType):
            self._batch.define(value, [index_constant(number)])
        else:
            self._batch.define(value, [flag_constant(bool(number))])

    def number(self, value: ir.Value) -> int | None:
        """An index that is known."""
        if value in self.known:
            return self.known[value]
        found = constant_of(value)
        return int(found) if isinstance(value.type, ir.IndexType) and found is not None else None

    def fold(self, operation: Any) -> bool:
        """Whether an operation is on known indices, and its result is known now."""
        if len(operation.operands) != 2 or len(operation.results) != 1:
            return False
        left, right = map(self.number, operation.operands)
        result = operation.results[0]
        self.known.pop(result, None)  # as it was at another place
        if left is None or right is None or min(left, right) < 0:
            return False
        if operation.name in _FOLDED and isinstance(result.type, ir.IndexType):
            self._know(result, _FOLDED[operation.name](left, right))
            return True
        if operation.name == "arith.cmpi":
            predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
            self._know(result, int(_COMPARED[predicate](left, right)))
            return True
        return False

    def place(self, indices: Sequence[ir.Value], sizes: Sequence[int]) -> list[Any]:
        """A place in an array of these sizes, by axes of the batch and numbers that are known."""
        found = [
            ir.AffineDimExpr.get(self._axes[index]) if index in self._axes else self.number(index)
            for index in indices
        ]
        for each, size in zip(found, sizes, strict=True):
            if each is None or (isinstance(each, int) and not 0 <= each < size):
                raise Refused
        return found


def parts_taken(batch: Batch, operation: Any, whole: Any, part: Any) -> list[int]:
    """Which parts of a whole a slice has, in order."""
    rank = batch.rank
    offsets, sizes, strides = (
        list(ir.DenseI64ArrayAttr(operation.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    first = list(zip(offsets, sizes, strides, strict=True))[:rank]
    if min(batch.shape) < 0 or first != [(0, size, 1) for size in batch.shape]:
        raise Refused
    if any(entry < 0 for entry in (*offsets, *sizes, *strides)):
        raise Refused
    batch.equal([whole, part])
    shape = list(whole.type.shape)[rank:]
    return [
        row_major(
            [
                offset + stride * index
                for offset, stride, index in zip(offsets[rank:], strides[rank:], place, strict=True)
            ],
            shape,
        )
        for place in positions(sizes[rank:])
    ]


def places_of(own: ir.AffineMap, rank: int) -> list[tuple[str, int]]:
    """What a map has along each axis: the batch's, a loop that is written out, or a number."""
    found: list[tuple[str, int]] = []
    for expression in own.results:
        if isinstance(expression, ir.AffineDimExpr):
            loop = ir.AffineDimExpr(expression).position
            found.append(("axis", loop) if loop < rank else ("loop", loop - rank))
        elif isinstance(expression, ir.AffineConstantExpr):
            found.append(("number", ir.AffineConstantExpr(expression).value))
        else:
            raise Refused
    return found


def at(places: Sequence[tuple[str, int]], place: Sequence[int]) -> list[Any]:
    """The same at a place along the loops that are written out."""
    return [
        ir.AffineDimExpr.get(number)
        if kind == "axis"
        else place[number]
        if kind == "loop"
        else number
        for kind, number in places
    ]


def loop_sizes(
    operands: Sequence[Any], maps: Sequence[ir.AffineMap], rank: int, loops: int
) -> list[int]:
    """How long the loops are that are written out."""
    sizes = [0] * (loops - rank)
    for operand, own in zip(operands, maps, strict=True):
        for axis, (kind, loop) in enumerate(places_of(own, rank)):
            if kind == "loop":
                sizes[loop] = operand.type.shape[axis]
    copies = 1
    for size in sizes:
        copies *= size
        if size < 1 or copies > MOST_COPIES:
            raise Refused
    return sizes
