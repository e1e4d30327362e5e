"""The elements of an operation, some at a time: loops over all, and their memory."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import for_range, when
from diastase_mlir.emit.operations import (
    binary,
    compare_integers,
    create,
    index_binary,
    index_constant,
    index_type,
    integer_type,
)
from diastase_mlir.passes.buffers.vector_lanes.operations import LaneOperations
from diastase_mlir.passes.operations import (
    SCOPE,
    Signatures,
    maps_of,
    operations_in,
    operations_named,
)

BITS = 1024
"""Of the vectors of the widest type: two registers of the largest, so that one waits for less."""
_LEAST = 8
"""Elements of a row that are worth lanes, where another axis has more."""


class Lanes(LaneOperations):
    """One operation, whose elements become lanes."""

    def __init__(self, generic: Any, signatures: Signatures):
        self._generic = generic
        self._operands, self._maps = list(generic.operands), maps_of(generic)
        _, written = ir.DenseI32ArrayAttr(generic.attributes["operandSegmentSizes"])
        self._inputs = len(self._operands) - written
        self._block = generic.regions[0].blocks[0]
        kind = ir.MemRefType(self._operands[-1].type)
        self._order = _loops(self._maps[-1])
        self._sizes = [0] * len(self._order)
        for axis, loop in enumerate(self._order):
            self._sizes[loop] = -1 if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis)
        self._axis = _lane_axis(self._sizes)
        super().__init__(self._lane_count(), self._along_lanes(), signatures)

    def _lane_count(self) -> int:
        """As many as fit, but no more than there are elements."""
        bits = [32]
        for operation in operations_in(self._generic):
            for value in operation.results:
                kind: Any = value.type
                if not isinstance(kind, ir.IndexType | ir.MemRefType):
                    bits.append(kind.width)
        count, size = BITS // max(bits), self._sizes[self._axis]
        while size >= 0 and count >= 2 * max(size, 1):
            count //= 2
        return count

    def _along_lanes(self) -> list[ir.Value]:
        """What differs from lane to lane to begin with."""
        arguments = zip(self._block.arguments, self._maps, strict=True)
        found: list[ir.Value] = [
            argument for argument, own in arguments if self._axis in _loops(own)
        ]
        for operation in operations_named(self._generic.operation, "linalg.index"):
            if ir.IntegerAttr(operation.attributes["dim"]).value == self._axis:
                found.append(operation.results[0])
        return found

    def emit(self) -> bool:
        """The loops over all elements; False where lanes would have to go different ways."""
        if self.lanes < 2 or not self.varying.follow(self._block):
            return False
        others = [loop for loop in range(len(self._sizes)) if loop != self._axis]
        lengths = [self._length(loop) for loop in range(len(self._sizes))]

        def nest(place: dict[int, ir.Value]) -> None:
            if len(place) < len(others):
                loop = others[len(place)]
                _for(lengths[loop], 1, lambda index: nest({**place, loop: index}))
            else:
                length = lengths[self._axis]
                _for(
                    length,
                    self.lanes,
                    lambda base: self._some({**place, self._axis: base}, length),
                )

        nest({})
        return True

    def _length(self, loop: int) -> ir.Value:
        if self._sizes[loop] >= 0:
            return index_constant(self._sizes[loop])
        axis = index_constant(self._order.index(loop))
        return create("memref.dim", [index_type()], [self._operands[-1], axis]).result

    # --- memory ---------------------------------------------------------------------------------

    def _some(self, place: dict[int, ir.Value], length: ir.Value) -> None:
        """The elements that begin at a place, one for each lane."""
        self.values = {}
        base = place[self._axis]
        left = index_binary("subi", length, base)
        mask = create("vector.create_mask", [self.vector_type(integer_type(1))], [left]).result
        last = index_binary("subi", left, index_constant(1))
        arguments = list(self._block.arguments)
        for number in range(self._inputs):
            self.values[arguments[number]] = self._read(number, place, mask, last)
        for operation in self._block.operations:
            if operation.name == "linalg.index":
                self.values[operation.results[0]] = self._index(operation, place, last)
        terminator = self.emit_block(self._block)
        for number, value in enumerate(terminator.operands, start=self._inputs):
            self._write(number, place, mask, left, self.as_vector(value))

    def _read(self, number: int, place: dict[int, ir.Value], mask: Any, last: Any) -> ir.Value:
        """An operand's elements; a number where it is the same in all lanes."""
        array, loops = self._operands[number], _loops(self._maps[number])
        if not isinstance(array.type, ir.MemRefType):
            return array
        at = [place[loop] for loop in loops]
        kind = ir.MemRefType(array.type).element_type
        if self._axis not in loops:
            return create("memref.load", [kind], [array, *at]).result
        axis = loops.index(self._axis)
        if self._is_row(array, loops):
            end = [*at[:-1], index_binary("addi", at[-1], last)]
            others = self.broadcast(create("memref.load", [kind], [array, *end]).result)
            return create("vector.maskedload", [others.type], [array, *at, mask, others]).result
        numbers: list[ir.Value] = []
        for lane in range(self.lanes):
            own = list(at)
            step = index_binary("minui", index_constant(lane), last)
            own[axis] = index_binary("addi", own[axis], step)
            numbers.append(create("memref.load", [kind], [array, *own]).result)
        return self.from_lanes(numbers)

    def _write(
        self, number: int, place: dict[int, ir.Value], mask: Any, left: Any, value: ir.Value
    ) -> None:
        array, loops = self._operands[number], _loops(self._maps[number])
        at = [place[loop] for loop in loops]
        if self._is_row(array, loops):
            create("vector.maskedstore", [], [array, *at, mask, value])
            return
        axis = loops.index(self._axis)
        for lane in range(self.lanes):
            own = list(at)
            own[axis] = index_binary("addi", own[axis], index_constant(lane))
            one = self.lane_of(value, lane)
            inside = compare_integers("ult", index_constant(lane), left)
            when(SCOPE, inside, partial(_store, one, array, own))

    def _is_row(self, array: ir.Value, loops: Sequence[int]) -> bool:
        """Whether the lanes' elements are neighbours in memory, none of them a part of a byte."""
        kind = ir.MemRefType(array.type)
        strides, _ = kind.get_strides_and_offset()
        element: Any = kind.element_type
        whole = isinstance(element, ir.F32Type | ir.F64Type) or element.width >= 8
        return whole and loops[-1] == self._axis and strides[-1] == 1

    def _index(self, operation: Any, place: dict[int, ir.Value], last: ir.Value) -> ir.Value:
        """Where an element is along a loop."""
        loop = ir.IntegerAttr(operation.attributes["dim"]).value
        if loop != self._axis:
            return place[loop]
        lanes = create("vector.step", [self.vector_type(index_type())]).result
        lanes = binary("arith.minui", lanes, self.broadcast(last))
        return binary("arith.addi", lanes, self.broadcast(place[loop]))


def _lane_axis(sizes: Sequence[int]) -> int:
    """The loop that lanes are neighbours along: the last, or a longer one where that is short."""
    last = len(sizes) - 1
    if sizes[last] < 0 or sizes[last] >= _LEAST:
        return last
    return max(range(len(sizes)), key=lambda loop: (sizes[loop] < 0, sizes[loop], loop))


def _store(value: ir.Value, array: ir.Value, place: Sequence[ir.Value]) -> None:
    create("memref.store", [], [value, array, *place])


def _for(length: ir.Value, step: int, body: Callable[[ir.Value], None]) -> None:
    def once(index: ir.Value, _: Any) -> list[ir.Value]:
        body(index)
        return []

    for_range(SCOPE, (0, length, step), [], once)


def _loops(own: ir.AffineMap) -> list[int]:
    """The loop of each axis that a map walks along."""
    return [ir.AffineDimExpr(expression).position for expression in own.results]
