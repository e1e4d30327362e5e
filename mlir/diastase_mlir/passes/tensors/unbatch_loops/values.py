"""Arrays of a loop as the numbers of one element, its *parts*, in row-major order.

With a batch of shape (n,), `tensor<?xf64>` has one part and `tensor<?x3xf64>` has three. An array
from outside of the loop is an input of the `linalg.generic` that the loop becomes; one whose
elements have several numbers is so many inputs, slices of it.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, index_constant
from diastase_mlir.emit.tensors import element_type, extract, extract_slice, sizes_of
from diastase_mlir.passes.operations import defining, last_of, operations_in

MOST_PARTS = 16
"""Numbers of an element in one array: more would not stay in registers."""


class Refused(Exception):
    """The loop is not one of elements."""


def is_array(kind: Any) -> bool:
    """Whether a type is that of an array with axes."""
    return isinstance(kind, ir.RankedTensorType) and kind.rank > 0


def inputs_of(generic: Any) -> int:
    """How many operands of a `linalg.generic` are read only."""
    return ir.DenseI32ArrayAttr(generic.attributes["operandSegmentSizes"])[0]


class Batch:
    """The batch of a loop: its axes, and its arrays."""

    def __init__(self, shape: Sequence[int], inside: set[ir.Value], outside: ir.InsertionPoint):
        self.shape, self.rank = list(shape), len(shape)
        self.inside = inside
        self.inputs: dict[tuple[Any, ...], tuple[ir.Value, ir.AffineMap, ir.Value]] = {}
        """Arrays from outside, how they are read, and the argument of the block."""
        self.block: Any = None
        self._outside = outside
        self._moved: dict[ir.Value, ir.Value] = {}
        """What is the same in all turns, and what it is before the loop."""
        self._parts: dict[ir.Value, list[ir.Value]] = {}
        self._classes: dict[ir.Value, ir.Value] = {}
        """Arrays whose sizes are equal: each points towards one that stands for all."""

    # --- what is the same in all turns --------------------------------------------------------

    def changes(self, value: ir.Value) -> bool:
        """Whether a value is made in the loop, and not seen to be the same in all turns."""
        return value in self.inside and value not in self._moved

    def move(self, operation: Any) -> None:
        """Do an operation before the loop."""
        with self._outside:
            copy = operation.clone().operation
        for each in operations_in(copy):
            for place, operand in enumerate(each.operands):
                each.operands[place] = self._moved.get(operand, operand)
        self._moved.update(zip(operation.results, copy.results, strict=True))

    # --- parts --------------------------------------------------------------------------------

    def count(self, kind: Any) -> int:
        """How many numbers an element has in an array, or 1 for a number."""
        if not is_array(kind):
            return 1
        own = kind.shape[self.rank :]
        count = prod(own)
        if kind.shape[: self.rank] != self.shape or min(own, default=1) < 1 or count > MOST_PARTS:
            raise Refused
        return count

    def define(self, value: ir.Value, parts: Sequence[ir.Value]) -> None:
        """Say what a value is for one element."""
        if len(parts) != self.count(value.type):
            raise Refused
        self._parts[value] = list(parts)

    def define_all(self, values: Sequence[ir.Value], parts: Sequence[ir.Value]) -> None:
        """The same of several values, whose parts follow each other."""
        given = iter(parts)
        for value in values:
            self.define(value, [next(given) for _ in range(self.count(value.type))])

    def knows(self, value: ir.Value) -> bool:
        """Whether it is said what a value is."""
        return value in self._parts

    def parts(self, value: ir.Value) -> list[ir.Value]:
        """What a value is for one element."""
        value = self._moved.get(value, value)
        if value in self._parts:
            return self._parts[value]
        if not isinstance(value.type, ir.RankedTensorType):
            return [self.number(value)]
        count = self.count(value.type)
        axes = [ir.AffineDimExpr.get(axis) for axis in range(self.rank)]
        places = positions(value.type.shape[self.rank :]) if is_array(value.type) else [()]
        if not is_array(value.type):
            axes = []
        return [self.read(value, [*axes, *place]) for place in places[:count]]

    def number(self, value: ir.Value) -> ir.Value:
        """A value that is a number."""
        value = self._moved.get(value, value)
        if value in self._parts:
            (number,) = self._parts[value]
            return number
        if value in self.inside:
            raise Refused
        return value

    def read(self, array: ir.Value, places: Sequence[Any]) -> ir.Value:
        """An element's number in an array, at a batch axis or a number along each of its axes."""
        array = self._moved.get(array, array)
        if not isinstance(array.type, ir.RankedTensorType):
            return self.number(array)
        axes = [place.position if isinstance(place, ir.AffineDimExpr) else None for place in places]
        if self.knows(array) or array in self.inside:
            own = self._parts.get(array)
            if own is None or axes[: self.rank] != list(range(self.rank))[: len(axes)]:
                raise Refused
            if any(axis is not None for axis in axes[self.rank :]):
                raise Refused
            return own[row_major(places[self.rank :], array.type.shape[self.rank :])]
        splat = _splat(array)
        if splat is not None:
            return self.number(splat())
        if all(axis is None for axis in axes):
            return extract(array, [index_constant(place) for place in places])
        return self._input(array, places, axes)

    def _input(
        self, array: ir.Value, places: Sequence[Any], axes: Sequence[int | None]
    ) -> ir.Value:
        """An argument that is an array's number."""
        key = (
            array,
            *(
                place if axis is None else -1 - axis
                for place, axis in zip(places, axes, strict=True)
            ),
        )
        if key not in self.inputs:
            taken = array
            if None in axes:
                with self._outside:
                    offsets = [
                        0 if axis is not None else place
                        for axis, place in zip(axes, places, strict=True)
                    ]
                    sizes = [
                        1 if axis is None else size
                        for axis, size in zip(axes, sizes_of(array), strict=True)
                    ]
                    dropped = frozenset(a for a, axis in enumerate(axes) if axis is None)
                    taken = extract_slice(array, offsets, sizes, [1] * len(axes), dropped)
            used = [ir.AffineDimExpr.get(axis) for axis in axes if axis is not None]
            own = ir.AffineMap.get(self.rank, 0, used)
            kind = element_type(array)
            argument = self.block.add_argument(kind, ir.Location.current)
            self.inputs[key] = taken, own, argument
        return self.inputs[key][2]

    # --- sizes --------------------------------------------------------------------------------

    def _class(self, value: ir.Value) -> ir.Value:
        while (above := self._classes.get(value, value)) != value:
            value = above
        return value

    def equal(self, values: Sequence[Any]) -> None:
        """Note that the batch of arrays has the same sizes, and see that it can be this one."""
        arrays: list[Any] = [
            self._moved.get(value, value) for value in values if is_array(value.type)
        ]
        if any(value.type.shape[: self.rank] != self.shape for value in arrays):
            raise Refused
        for value in arrays[1:]:
            self._classes[self._class(value)] = self._class(arrays[0])

    def check_sizes(self, values: Sequence[ir.Value]) -> None:
        """All arrays have the same sizes if these are known, or if all are seen to meet."""
        if all(size >= 0 for size in self.shape):
            return
        whole = [
            key[0]
            for key in self.inputs
            if key[1 : self.rank + 1] == tuple(-1 - axis for axis in range(self.rank))
        ]
        met = {self._class(value) for value in (*values, *whole) if is_array(value.type)}
        if len(met) > 1:
            raise Refused


def positions(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """All places in an array, in row-major order."""
    places: list[tuple[int, ...]] = [()]
    for size in sizes:
        places = [(*place, index) for place in places for index in range(size)]
    return places


def row_major(place: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of a place in row-major order."""
    number = 0
    for index, size in zip(place, sizes, strict=True):
        number = number * size + index
    return number


def _splat(value: ir.Value) -> Callable[[], ir.Value] | None:
    """Emits the number that all elements of an array are, where it is seen."""
    made_by, kind = defining(value), value.type
    if made_by is None or not isinstance(kind, ir.RankedTensorType):
        return None
    if made_by.name == "arith.constant":
        if isinstance(kind.element_type, ir.ComplexType):  # whose values the bindings do not read
            return None if kind.rank else lambda: extract(value, [])
        elements: Any = ir.DenseElementsAttr(made_by.attributes["value"])
        if not elements.is_splat:
            return None
        number = elements.get_splat_value()
        return lambda: create("arith.constant", [kind.element_type], [], {"value": number}).result
    if made_by.name == "tensor.from_elements" and not kind.rank:
        return lambda: made_by.operands[0]
    if made_by.name == "linalg.fill":
        return lambda: made_by.operands[0]
    if made_by.name != "linalg.generic" or inputs_of(made_by) != 1:
        return None
    block, source = made_by.regions[0].blocks[0], made_by.operands[0]
    if last_of(block).operands[0] != block.arguments[0] or is_array(source.type):
        return None
    return (lambda: source) if not isinstance(source.type, ir.RankedTensorType) else _splat(source)
