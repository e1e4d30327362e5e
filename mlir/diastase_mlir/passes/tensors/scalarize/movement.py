"""Rules for what moves elements: parts of arrays, vectors of numbers, arrays side by side.

Elements stay where they are until somebody needs them: a slice of known bounds is read at its own
place, numbers side by side are a list. What is concatenated is seen through: the numbers of vectors
that are lists of numbers stand in one list, however they were put together, so that a program of n
numbers has n operations.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.tensors.scalarize.conversion import (
    Conversion,
    Elements,
    Number,
    Reshaped,
    Rule,
    Slice,
    Value,
    elements_of,
    materialised,
    scalar_of,
)


def _slice(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    if not is_movable(operation):
        return None
    starts, limits, strides = (
        list(ir.DenseI64ArrayAttr(operation.attributes[name]))
        for name in ("start_indices", "limit_indices", "strides")
    )
    (operand,), sizes = operands, list(operation.results[0].type.shape)
    if not sizes:
        return operands
    if isinstance(operand, Elements):
        return [Elements(operand.scalars[starts[0] : limits[0] : strides[0]])]
    if isinstance(operand, Slice):
        return [operand.part(starts, sizes, strides)]
    return [Slice(materialised(operand), starts, sizes, strides)]


def _reshape(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    """A number as a vector of one element, and the other way round."""
    (operand,) = operands
    if not is_movable(operation):
        return None
    before, after = (value.type.shape for value in (operation.operands[0], operation.results[0]))
    if before == after:
        return [operand]
    if not after:
        return [Number(scalar_of(operand))]
    if (before, after) == ([], [1]):
        return [Elements([scalar_of(operand)])]
    if isinstance(operand, Reshaped) and operand.source.type.shape == after:
        return [operand.source]
    if _without_ones(before) == _without_ones(after) and before:
        source = operand.source if isinstance(operand, Reshaped) else materialised(operand)
        return [Reshaped(source, after)]
    return None


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


def _broadcast(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    if not is_movable(operation) or operation.results[0].type.shape != [1]:
        return None
    return [Elements([scalar_of(operands[0])])]


def _with_axes(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    """An array of unknown sizes with more axes of size 1; no other axis changes."""
    own, result = operation.operands[0].type, operation.results[0].type
    if not own.rank or not is_signless(own) or not adds_axes(operation):
        return None
    copied = dict(operation.attributes.items())
    kinds, given = [result], list(map(materialised, operands))
    return [Reshaped(given[0], result.shape, lambda: create(operation.name, kinds, given, copied))]


def adds_axes(operation: Any) -> bool:
    """Whether a `dynamic_broadcast_in_dim` does nothing else than to add axes of size 1."""
    shape = operation.results[0].type.shape
    axes = list(ir.DenseI64ArrayAttr(operation.attributes["broadcast_dimensions"]))
    name = "known_nonexpanding_dimensions"
    known = operation.attributes
    kept = list(ir.DenseI64ArrayAttr(known[name])) if name in known else []
    added = [axis for axis in range(len(shape)) if axis not in axes]
    return (
        axes == sorted(axes)
        and kept == list(range(len(axes)))
        and all(shape[axis] == 1 for axis in added)
    )


def _reverse(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    (operand,) = operands
    return [Elements(operand.scalars[::-1])] if isinstance(operand, Elements) else None


def _concatenate(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    """Arrays side by side, with neighbouring numbers in one vector."""
    result = operation.results[0].type
    if result.rank != 1 or not is_signless(result):
        return None
    pieces = list(_joined(operands))
    if len(pieces) == 1:
        return pieces
    if len(pieces) == len(operands):
        return None
    arrays = [materialised(piece) for piece in pieces]
    attributes = {"dimension": operation.attributes["dimension"]}
    return [create("stablehlo.concatenate", [result], arrays, attributes).result]


def _joined(operands: Sequence[Value]) -> Iterator[Value]:
    numbers: list[ir.Value] = []
    for value in operands:
        scalars = elements_of(value)
        if scalars is not None:
            numbers += scalars
            continue
        if numbers:
            yield Elements(numbers)
            numbers = []
        yield value
    if numbers:
        yield Elements(numbers)


def _extract(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    """The scalar itself, where the array is one of scalars."""
    array, *position = operands
    if not position and isinstance(array, Number):
        return [array.scalar]
    return None


def _from_elements(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    shape = operation.results[0].type.shape
    scalars = [materialised(operand) for operand in operands]
    if not shape:
        return [Number(scalars[0])]
    return [Elements(scalars)] if len(shape) == 1 else None


def shape_wanted(operation: Any, sizes: list[int]) -> list[int]:
    """The shape that is made of a part, if it is one with fewer axes of size 1."""
    uses = list(operation.results[0].uses)
    if len(uses) == 1 and uses[0].owner.operation.name == "stablehlo.reshape":
        wanted = uses[0].owner.operation.results[0].type.shape
        kept = iter(sizes)
        if wanted and len(wanted) < len(sizes) and all(size in kept for size in wanted):
            return wanted
    return sizes


def is_movable(operation: Any) -> bool:
    """Whether arrays have known sizes, none of them 0, and signless elements."""
    types = [value.type for value in (operation.operands[0], operation.results[0])]
    return all(map(is_movable_type, types))


def is_movable_type(kind: Any) -> bool:
    """The same of a single type."""
    return is_signless(kind) and kind.has_static_shape and 0 not in kind.shape


def is_signless(kind: Any) -> bool:
    """Whether elements are no unsigned integers, which most operations of `tensor` do not take."""
    return getattr(kind.element_type, "is_signless", True)


RULES: dict[str, Rule] = {
    "stablehlo.slice": _slice,
    "stablehlo.reshape": _reshape,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.dynamic_broadcast_in_dim": _with_axes,
    "stablehlo.reverse": _reverse,
    "stablehlo.concatenate": _concatenate,
    "tensor.extract": _extract,
    "tensor.from_elements": _from_elements,
}
