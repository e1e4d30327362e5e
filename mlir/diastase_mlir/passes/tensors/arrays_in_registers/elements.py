"""What numbers a small array consists of: `Elements.of`, in row-major order.

An array that is made of numbers (`tensor.from_elements`) is these numbers. One that is a part of
another, or another under another shape, has its elements from there. Of any other, each element is
read where the array is made, once.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, index_binary, scalar_constant
from diastase_mlir.emit.tensors import DYNAMIC, HIDING, extract
from diastase_mlir.passes.bodies import Constants, Known
from diastase_mlir.passes.operations import SAME_ELEMENTS, behind, constant_of, defining

MOST = 32
"""Elements of a small array."""

SEEN_THROUGH = SAME_ELEMENTS | {HIDING}


def is_small(kind: Any, most: int = MOST) -> bool:
    """Whether a type is that of an array of a few elements, whose number is known."""
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return False
    return 1 <= prod(kind.shape) <= most


def as_array(kind: Any, numbers: list[ir.Value]) -> ir.Value:
    """The array of these elements."""
    return create("tensor.from_elements", [kind], numbers).result


class Elements:
    """The elements of the arrays of one function."""

    def __init__(self, function: Any):
        self.constants = Constants(function)
        self._read: dict[ir.Value, list[ir.Value]] = {}

    def element(self, array: Any, place: Sequence[Known]) -> ir.Value | None:
        """The element at a place that is known, of a small array."""
        if not is_small(array.type):
            return None
        known = [own for own in place if isinstance(own, int)]
        inside = [0 <= own < size for own, size in zip(known, array.type.shape, strict=False)]
        if len(known) < len(place) or not all(inside):
            return None
        return self.of(array)[flat(known, array.type.shape)]

    def of(self, array: Any) -> list[ir.Value]:
        """The elements of a small array."""
        made_by = defining(array)
        if made_by is not None and made_by.name == "tensor.from_elements":
            return list(made_by.operands)
        if array not in self._read:
            self._read[array] = self._elements(array, made_by)
        return self._read[array]

    def _elements(self, array: Any, made_by: Any) -> list[ir.Value]:
        if made_by is not None:
            if made_by.name in SEEN_THROUGH and is_small(made_by.operands[0].type):
                return self.of(made_by.operands[0])
            if made_by.name == "tensor.extract_slice" and has_known_strides(made_by):
                return self._of_part(made_by)
            if made_by.name == "linalg.fill":
                return [made_by.operands[0]] * prod(array.type.shape)
            if made_by.name == "tensor.empty":
                with behind(array), made_by.location:
                    return [scalar_constant(array.type.element_type, 0)] * prod(array.type.shape)
        positions = product(*map(range, array.type.shape))
        with behind(array), array.owner.location if made_by else ir.Location.unknown():
            return [extract(array, [*map(self.constants.index, place)]) for place in positions]

    def _of_part(self, part: Any) -> list[ir.Value]:
        """Elements of a part of an array, which are read at their places in the whole."""
        array = part.operands[0]
        offsets, sizes, strides = part_of(part)
        if is_small(array.type) and not any(isinstance(start, ir.Value) for start in offsets):
            own, places = self.of(array), places_in(array.type.shape, offsets, sizes, strides)
            return [own[place] for place in places]
        with behind(part.results[0]), part.location:
            return [
                extract(array, [self._sum(*term) for term in zip(offsets, steps, strict=True)])
                for steps in _steps(sizes, strides)
            ]

    def _sum(self, start: Any, step: int) -> ir.Value:
        if not isinstance(start, ir.Value):
            return self.constants.index(start + step)
        return index_binary("addi", start, self.constants.index(step)) if step else start

    def inserted(self, update: Any) -> ir.Value | None:
        """The array that a part of another one makes of it, where its elements are known."""
        source, array, *_ = update.operands
        if update.name == "tensor.insert":
            place: Any = [*map(constant_of, list(update.operands)[2:])]
            if None in place or not is_small(array.type):
                return None
            return self._with({flat(place, array.type.shape): source}, array)
        offsets, sizes, strides = part_of(update)
        known = not any(isinstance(start, ir.Value) for start in offsets)
        if known and is_small(array.type):
            places = places_in(array.type.shape, offsets, sizes, strides)
            return self._with(dict(zip(places, self.of(source), strict=True)), array)
        made_by = defining(source)
        if made_by is None or made_by.name != "tensor.from_elements":
            return None
        for number, steps in zip(self.of(source), _steps(sizes, strides), strict=True):
            place = [self._sum(*term) for term in zip(offsets, steps, strict=True)]
            array = create("tensor.insert", [array.type], [number, array, *place]).result
        return array

    def _with(self, numbers: dict[int, ir.Value], array: Any) -> ir.Value:
        own = enumerate(self.of(array))
        return as_array(array.type, [numbers.get(place, number) for place, number in own])


def part_of(operation: Any) -> tuple[list[Any], list[int], list[int]]:
    """Offsets, which are numbers or values, sizes and strides of a slice of a few elements."""
    static, sizes, strides = (
        list(ir.DenseI64ArrayAttr(operation.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    first = 1 if operation.name == "tensor.extract_slice" else 2
    dynamic = iter(list(operation.operands)[first:])
    offsets = [next(dynamic) if number == DYNAMIC else number for number in static]
    return [_known(start) for start in offsets], sizes, strides


def _known(start: Any) -> Any:
    number = constant_of(start) if isinstance(start, ir.Value) else start
    return start if number is None else number


def has_known_place(operation: Any) -> bool:
    """Whether it is known which elements an operation reads or replaces, once its turn is known."""
    if operation.name in ("tensor.extract", "tensor.insert"):
        first = 1 if operation.name == "tensor.extract" else 2
        return all(map(_is_known, list(operation.operands)[first:]))
    return has_known_strides(operation) and not any(
        isinstance(start, ir.Value) for start in part_of(operation)[0]
    )


def _is_known(index: Any) -> bool:
    """Whether an index is computed of constants and of positions of a loop over elements."""
    made_by = defining(index)
    if made_by is None:
        return False
    if made_by.name in ("arith.constant", "linalg.index"):
        return True
    return made_by.name.startswith("arith.") and all(map(_is_known, made_by.operands))


def has_known_strides(operation: Any) -> bool:
    """Whether it is known how far the elements of a part of an array lie from each other."""
    return DYNAMIC not in ir.DenseI64ArrayAttr(operation.attributes["static_strides"])


def flat(place: Sequence[int], shape: Sequence[int]) -> int:
    """The number of an element in row-major order."""
    number = 0
    for size, index in zip(shape, place, strict=True):
        number = number * size + index
    return number


def places_in(
    shape: list[int], offsets: list[int], sizes: list[int], strides: list[int]
) -> list[int]:
    """The numbers of the elements of a part."""
    return [
        flat(tuple(start + step for start, step in zip(offsets, steps, strict=True)), shape)
        for steps in _steps(sizes, strides)
    ]


def _steps(sizes: list[int], strides: list[int]) -> list[tuple[int, ...]]:
    """How far each element of a part lies from its first one."""
    return list(
        product(*(range(0, size * step, step) for size, step in zip(sizes, strides, strict=True)))
    )
