"""The operations of StableHLO that move elements of arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diastase_mlir import jax_compat
from diastase_mlir.emit.operations import INSIDE, array_attribute, create, enumeration
from diastase_mlir.emit.tensors import element_type, tensor_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_static, whole_bytes
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation

_OPERATIONS = {"rev": "reverse"}
"""Those that JAX calls otherwise."""


def is_known(*avals: Any) -> bool:
    """Whether all sizes of arrays are known now, and all arrays have elements."""
    return all(isinstance(size, int) and size for aval in avals for size in aval.shape)


def move(
    context: LoweringContext,
    equation: Equation,
    operands: Sequence[ir.Value],
    numbers: Mapping[str, Sequence[int]],
) -> ir.Value:
    """The operation of an equation, with attributes that are lists of numbers."""
    name = equation.primitive.name
    attributes = {key: array_attribute("i64", own) for key, own in numbers.items()}
    result = context.type_of(equation.avals_out[0])
    return create(f"stablehlo.{_OPERATIONS.get(name, name)}", [result], operands, attributes).result


def reshaped(operand: ir.Value, shape: Sequence[int]) -> ir.Value:
    """The same elements under another shape."""
    kind = ir.RankedTensorType.get(list(shape), element_type(operand))
    return (
        operand if operand.type == kind else create("stablehlo.reshape", [kind], [operand]).result
    )


def spread(operand: ir.Value, shape: Sequence[int], axes: Sequence[int]) -> ir.Value:
    """An array whose axes are these of the result's, repeated along the others."""
    kind = ir.RankedTensorType.get(list(shape), element_type(operand))
    if operand.type == kind:
        return operand
    attributes = {"broadcast_dimensions": array_attribute("i64", axes)}
    return create("stablehlo.broadcast_in_dim", [kind], [operand], attributes).result


def spread_to(
    operand: ir.Value,
    sizes: ir.Value,
    kind: ir.Type,
    axes: Sequence[int],
    expanding: Sequence[int] = (),
) -> ir.Value:
    """The same for sizes known at run time; `expanding`: the operand's axes of size 1."""
    kept = [axis for axis in range(len(axes)) if axis not in expanding]
    attributes = {
        "broadcast_dimensions": array_attribute("i64", axes),
        "known_expanding_dimensions": array_attribute("i64", expanding),
        "known_nonexpanding_dimensions": array_attribute("i64", kept),
    }
    operands = [operand, sizes]
    return create("stablehlo.dynamic_broadcast_in_dim", [kind], operands, attributes).result


def sliced(
    operand: ir.Value, starts: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> ir.Value:
    """A strided slice."""
    limits = [
        start + (size - 1) * stride + 1
        for start, size, stride in zip(starts, sizes, strides, strict=True)
    ]
    attributes = {
        "start_indices": array_attribute("i64", starts),
        "limit_indices": array_attribute("i64", limits),
        "strides": array_attribute("i64", strides),
    }
    kind = ir.RankedTensorType.get(list(sizes), element_type(operand))
    return create("stablehlo.slice", [kind], [operand], attributes).result


def concatenate(result: ir.Type, arrays: Sequence[ir.Value], axis: int) -> ir.Value:
    """Arrays one behind the other along an axis."""
    if len(arrays) == 1:
        return arrays[0]
    return create(
        "stablehlo.concatenate", [result], arrays, {"dimension": enumeration(axis)}
    ).result


def full(
    context: LoweringContext, number: ir.Value, aval: Any, first: int | ir.Value | None = None
) -> ir.Value:
    """An array that holds one number everywhere; `first`: its first size, where that is at hand."""
    aval = jax_compat.physical_aval(aval)
    if is_static(aval):
        return spread(number, aval.shape, [])
    return spread_to(number, context.shape(aval, first), context.type_of(aval), [])


def zeros(context: LoweringContext, aval: Any, first: int | ir.Value | None = None) -> ir.Value:
    """An array of zeros."""
    physical = jax_compat.physical_aval(aval)
    zero = np.zeros((), whole_bytes(physical.dtype))
    return full(context, context.constant(zero, physical.update(shape=())), aval, first)


def nothing(context: LoweringContext, aval: Any) -> ir.Value:
    """An array that is known to have no elements."""
    return zeros(context, aval)


def part_at(
    array: ir.Value, axis: int, place: ir.Value, sizes: ir.Value, kind: ir.Type
) -> ir.Value:
    """The part of an array at a place inside of it, a number, along an axis, without that axis.

    `sizes`: a vector of the array's, but 1 for the axis.
    """
    others = [*range(tensor_type(array).rank - 1)]
    numbers = (
        f"#stablehlo.gather<offset_dims = {others}, collapsed_slice_dims = [{axis}], "
        f"start_index_map = [{axis}], index_vector_dim = 0>"
    )
    attributes = {"dimension_numbers": ir.Attribute.parse(numbers)}
    attributes |= _inside(array)
    operands = [array, reshaped(place, [1]), sizes]
    return create("stablehlo.dynamic_gather", [kind], operands, attributes).result


def with_axis(array: ir.Value, axis: int, sizes: ir.Value) -> ir.Value:
    """The array with one axis more, of size 1; `sizes`: a vector of all of them then."""
    shape = list(tensor_type(array).shape)
    kind = ir.RankedTensorType.get([*shape[:axis], 1, *shape[axis:]], element_type(array))
    if kind.has_static_shape:
        return reshaped(array, kind.shape)
    axes = [own + (own >= axis) for own in range(len(shape))]
    return spread_to(array, sizes, kind, axes)


def stacked(array: ir.Value, axis: int) -> list[ir.Value] | None:
    """The arrays that one consists of along an axis, without it; None where nothing says so."""
    made: Any = array.owner
    if isinstance(made, ir.Block) or made.name != "stablehlo.concatenate":
        return None
    parts = list(made.operands)
    along = ir.IntegerAttr(made.attributes["dimension"]).value
    if along != axis or any(tensor_type(part).shape[axis] != 1 for part in parts):
        return None
    found = [without for part in parts if (without := _without_axis(part, axis)) is not None]
    return found if len(found) == len(parts) else None


def _without_axis(array: ir.Value, axis: int) -> ir.Value | None:
    """The array without an axis of size 1, as it was before it got it if it did."""
    own = tensor_type(array).shape
    shape = [*own[:axis], *own[axis + 1 :]]
    made: Any = array.owner
    if not isinstance(made, ir.Block) and made.name in _WITH_AXES:
        source = made.operands[0]
        if tensor_type(source).shape == shape and _keeps_order(made, axis):
            return source
    return reshaped(array, shape) if tensor_type(array).has_static_shape else None


_WITH_AXES = (
    "stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim",
)  # fmt: skip


def _keeps_order(made: Any, axis: int) -> bool:
    """Whether an operation adds this axis and changes nothing else."""
    if made.name == "stablehlo.reshape":
        return True
    axes = list(ir.DenseI64ArrayAttr(made.attributes["broadcast_dimensions"]))
    if "known_expanding_dimensions" in made.attributes:
        if len(ir.DenseI64ArrayAttr(made.attributes["known_expanding_dimensions"])):
            return False
    return axes == [own + (own >= axis) for own in range(len(axes))]


def row_at(
    context: LoweringContext, array: ir.Value, place: ir.Value, sizes: ir.Value | None = None
) -> ir.Value:
    """The part of an array at a place inside of it along its first axis, without that axis.

    `sizes`: a vector of those of a part with that axis, where not all of them are known.
    """
    shape = tensor_type(array).shape
    element = element_type(array)
    if sizes is not None:
        kind = ir.RankedTensorType.get(shape[1:], element)
        return part_at(array, 0, place, sizes, kind)
    kind = ir.RankedTensorType.get([1, *shape[1:]], element)
    attributes = {"slice_sizes": array_attribute("i64", kind.shape), **_inside(array)}
    operands = [array, *_starts(context, place, len(shape))]
    row = create("stablehlo.dynamic_slice", [kind], operands, attributes).result
    return reshaped(row, shape[1:])


def with_row_at(
    context: LoweringContext,
    array: ir.Value,
    row: ir.Value,
    place: ir.Value,
    sizes: ir.Value | None = None,
) -> ir.Value:
    """The array with that part replaced."""
    shape = tensor_type(array).shape
    part = reshaped(row, [1, *shape[1:]]) if sizes is None else with_axis(row, 0, sizes)
    operands = [array, part, *_starts(context, place, len(shape))]
    return create("stablehlo.dynamic_update_slice", [array.type], operands, _inside(array)).result


def _inside(array: ir.Value) -> dict[str, ir.Attribute]:
    """What says that a part lies inside an array, where its sizes do not."""
    return {} if tensor_type(array).has_static_shape else {INSIDE: ir.UnitAttr.get()}


def _starts(context: LoweringContext, place: ir.Value, rank: int) -> list[ir.Value]:
    return [place, *[context.constant(np.int64(0))] * (rank - 1)] if rank > 1 else [place]
