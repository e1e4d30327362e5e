"""Rules for making and rearranging arrays: fill, broadcast, reshape, slice, reverse, pad.

Each becomes an operation of StableHLO (`elementwise.moves`); one whose parameters are known only
when the program runs takes them as vectors. They move elements and never look at them, so elements
may be of any type.
"""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

from jax import lax

from diastase_mlir import jax_compat
from diastase_mlir.emit.operations import create, enumeration, integer_constant, integer_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_known_empty, is_static
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.moves import (
    concatenate,
    is_known,
    move,
    nothing,
    part_at,
    reshaped,
    sliced,
    spread,
    spread_to,
    with_axis,
)
from diastase_mlir.lowering.elementwise.regions import converted, on_numbers


@lowers("dim_as_value")
def lower_dim_as_value(context: LoweringContext, equation: Equation) -> list[ir.Value]:
    """A size as a number of the program."""
    number = context.dimensions.number(equation.params["dim"])
    return [converted(number, context.element_type_of(equation.avals_out[0]))]


@lowers("iota")
def lower_iota(context: LoweringContext, equation: Equation, *_sizes: ir.Value) -> list[ir.Value]:
    """Positions along an axis, as numbers of any type."""
    aval, axis = equation.avals_out[0], equation.params["dimension"]
    if is_known(aval):
        return NotImplemented  # JAX's rule has one operation for it
    attributes = {"iota_dimension": enumeration(axis)}
    operands, kind = [context.shape(aval)], context.type_of(aval)
    return [create("stablehlo.dynamic_iota", [kind], operands, attributes).result]


@lowers("broadcast_in_dim")
def lower_broadcast_in_dim(
    context: LoweringContext, equation: Equation, operand: ir.Value, *_sizes: ir.Value
) -> Sequence[ir.Value]:
    """Repetition along new axes and along axes of size 1."""
    (result,), axes = equation.avals_out, equation.params["broadcast_dimensions"]
    if is_known(*equation.avals_in[:1], result):
        return [move(context, equation, [operand], {"broadcast_dimensions": axes})]
    # Also sizes of which only this trace knows that they are 1.
    expanding = [axis for axis, size in enumerate(equation.avals_in[0].shape) if size == 1]
    return [spread_to(operand, context.shape(result), context.type_of(result), axes, expanding)]


@lowers("reshape", "squeeze", "expand_dims")
def lower_reshape(
    context: LoweringContext, equation: Equation, operand: ir.Value, *_sizes: ir.Value
) -> Sequence[ir.Value]:
    """The same elements under another shape."""
    order = equation.params.get("dimensions") if equation.primitive.name == "reshape" else None
    if order is not None:
        plain = partial(lax.reshape, new_sizes=equation.avals_out[0].shape)
        return context.lower_function(
            lambda array: (plain(lax.transpose(array, order)),), equation.avals_in[:1], [operand]
        )
    source, shape = equation.avals_in[0].shape, equation.avals_out[0].shape
    if tuple(source) == tuple(shape):
        return [operand]
    if is_known(*equation.avals_in, *equation.avals_out):
        return [reshaped(operand, shape)]
    return [reshaped_to(context, operand, equation.avals_out[0])]


@lowers("slice")
def lower_slice(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> Sequence[ir.Value]:
    """A strided slice with bounds that are sizes."""
    shape = equation.avals_out[0].shape
    strides = equation.params["strides"] or [1] * len(shape)
    if is_known(*equation.avals_in, *equation.avals_out):
        return [sliced(operand, equation.params["start_indices"], shape, strides)]
    bounds = [equation.params["start_indices"], equation.params["limit_indices"], strides]
    return [_slice(context, operand, equation.avals_out[0], bounds)]


def _slice(
    context: LoweringContext, operand: ir.Value, part: Any, bounds: Sequence[Sequence[Any]]
) -> ir.Value:
    """A strided slice; starts, limits and strides, of which some are not known."""
    vectors = [context.vector(numbers) for numbers in bounds]
    kind = context.type_of(part)
    return create("stablehlo.real_dynamic_slice", [kind], [operand, *vectors]).result


@lowers("split")
def lower_split(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> Sequence[ir.Value]:
    """Consecutive parts along an axis."""
    axis, parts = equation.params["axis"], list[ir.Value]()
    start: Any = 0
    for extent, aval in zip(equation.params["sizes"], equation.avals_out, strict=True):
        offsets: list[Any] = [0] * len(aval.shape)
        offsets[axis], steps = start, [1] * len(aval.shape)
        start = start + extent
        if is_known(*equation.avals_in, aval):
            parts.append(sliced(operand, offsets, aval.shape, steps))
            continue
        limits = [offset + size for offset, size in zip(offsets, aval.shape, strict=True)]
        parts.append(_slice(context, operand, aval, [offsets, limits, steps]))
    return parts


@lowers("unstack")
def lower_unstack(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> Sequence[ir.Value]:
    """The parts of size 1 along an axis, without it; a primitive from jax 0.12 on."""
    axis, shape = equation.params["axis"], equation.avals_in[0].shape
    if is_known(*equation.avals_in):
        part = (*shape[:axis], 1, *shape[axis + 1 :])
        return [
            reshaped(
                sliced(
                    operand,
                    [number if a == axis else 0 for a in range(len(shape))],
                    part,
                    [1] * len(shape),
                ),
                aval.shape,
            )
            for number, aval in enumerate(equation.avals_out)
        ]
    sizes = context.vector([*shape[:axis], 1, *shape[axis + 1 :]])
    return [
        part_at(operand, axis, integer_constant(number), sizes, context.type_of(aval))
        for number, aval in enumerate(equation.avals_out)
    ]


@lowers("stack")
def lower_stack(
    context: LoweringContext, equation: Equation, *values: ir.Value
) -> Sequence[ir.Value]:
    """Arrays side by side along a new axis; a primitive from jax 0.12 on."""
    axis, (result,) = equation.params["axis"], equation.avals_out
    if is_known(result):
        part = (*result.shape[:axis], 1, *result.shape[axis + 1 :])
        rows = [reshaped(value, part) for value in values]
        return [concatenate(context.type_of(result), rows, axis)]
    if is_known_empty(result):
        return [nothing(context, result)]
    sizes = context.vector([*result.shape[:axis], 1, *result.shape[axis + 1 :]])
    rows = [with_axis(value, axis, sizes) for value in values]
    return [concatenate(context.type_of(result), rows, axis)]


@lowers("tile")
def lower_tile(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """The array repeated along its axes."""
    (aval,), (result,) = equation.avals_in, equation.avals_out
    pairs = zip(equation.params["reps"], aval.shape, strict=True)
    between = aval.update(shape=tuple(size for pair in pairs for size in pair))
    axes = range(1, 2 * len(aval.shape), 2)
    if is_known(aval, result):
        return [reshaped(spread(operand, between.shape, axes), result.shape)]
    if is_known_empty(result):
        return [nothing(context, result)]
    operand = spread_to(operand, context.shape(between), context.type_of(between), axes)
    return [reshaped_to(context, operand, result)]


def reshaped_to(context: LoweringContext, operand: ir.Value, result: Any) -> ir.Value:
    """The same elements under another shape, of which not all sizes are known."""
    operands, kind = [operand, context.shape(result)], context.type_of(result)
    return create("stablehlo.dynamic_reshape", [kind], operands).result


@lowers("dynamic_slice")
def lower_dynamic_slice(
    context: LoweringContext, equation: Equation, operand: ir.Value, *starts: ir.Value
) -> Sequence[ir.Value]:
    """A slice at a computed place, which is moved so that the slice lies inside the array."""
    shape, wanted = equation.avals_in[0].shape, equation.avals_out[0].shape
    if is_known(equation.avals_in[0], *equation.avals_out):
        return [move(context, equation, [operand, *starts], {"slice_sizes": wanted})]
    (result,) = equation.avals_out
    if is_known_empty(result):
        return [nothing(context, result)]
    # What follows the starts are unknown sizes, which we know already.
    starts = starts[: len(shape)]
    if is_static(result):
        return [move(context, equation, [operand, *starts], {"slice_sizes": wanted})]
    if all(size == own for size, own in zip(wanted, shape, strict=True)):
        return [operand]
    firsts = [
        _clamped(start, *map(context.number, (size, taken)))
        for start, size, taken in zip(starts, shape, wanted, strict=True)
    ]
    limits = [
        on_numbers("add", first, context.number(taken))
        for first, taken in zip(firsts, wanted, strict=True)
    ]
    bounds = [context.dimensions.shape_tensor(numbers) for numbers in (firsts, limits)]
    operands = [operand, *bounds, context.vector([1] * len(shape))]
    return [create("stablehlo.real_dynamic_slice", [context.type_of(result)], operands).result]


def _clamped(start: ir.Value, size: ir.Value, taken: ir.Value) -> ir.Value:
    """A start for which a part lies inside of an array, with 64 bits."""
    last = on_numbers("maximum", on_numbers("subtract", size, taken), integer_constant(0))
    element = ir.RankedTensorType(start.type).element_type
    if getattr(element, "is_unsigned", False):
        # As a signed number, one of 2**63 or more would be negative.
        wide = ir.IntegerType.get_unsigned(64)
        low = on_numbers("minimum", converted(start, wide), converted(last, wide))
        return converted(low, integer_type(64))
    start = converted(start, integer_type(64))
    return on_numbers("maximum", on_numbers("minimum", start, last), integer_constant(0))


@lowers("dynamic_update_slice")
def lower_dynamic_update_slice(
    context: LoweringContext,
    equation: Equation,
    operand: ir.Value,
    update: ir.Value,
    *starts: ir.Value,
) -> list[ir.Value]:
    """The array with a slice replaced, at a place that is moved likewise."""
    if any(map(is_known_empty, equation.avals_in[:2])):
        return [operand]
    return [move(context, equation, [operand, update, *starts], {})]


@lowers("concatenate")
def lower_concatenate(
    context: LoweringContext, equation: Equation, *arrays: ir.Value
) -> Sequence[ir.Value]:
    """Arrays one behind the other along an axis."""
    axis, (result,) = equation.params["dimension"], equation.avals_out
    if is_known(*equation.avals_in):
        return [concatenate(context.type_of(result), arrays, axis)]
    attributes, kind = {"dimension": enumeration(axis)}, context.type_of(result)
    return [create("stablehlo.concatenate", [kind], arrays, attributes).result]


@lowers("rev")
def lower_rev(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> Sequence[ir.Value]:
    """The array with some axes reversed."""
    shape, reversed_axes = equation.avals_in[0].shape, equation.params["dimensions"]
    if all(shape[axis] == 1 for axis in reversed_axes):
        return [operand]
    return [move(context, equation, [operand], {"dimensions": reversed_axes})]


@lowers("pad")
def lower_pad(
    context: LoweringContext, equation: Equation, operand: ir.Value, filler: ir.Value
) -> list[ir.Value]:
    """Elements set apart and surrounded by a value; negative amounts cut off instead."""
    configuration = equation.params["padding_config"]
    if not configuration:
        return [operand]
    (result,), amounts = equation.avals_out, list(zip(*configuration, strict=True))
    if is_known_empty(result):
        return [nothing(context, result)]
    if not any(map(jax_compat.is_symbolic, chain(*amounts))):
        return [
            move(context, equation, [operand, filler], dict(zip(_AMOUNTS, amounts, strict=True)))
        ]
    vectors = [context.vector(own) for own in amounts]
    operands = [operand, filler, *vectors]
    return [create("stablehlo.dynamic_pad", [context.type_of(result)], operands).result]


_AMOUNTS = ("edge_padding_low", "edge_padding_high", "interior_padding")


@lowers("copy", "copy_p", "optimization_barrier", "stop_gradient", "sharding_constraint", lazy=True)
def lower_identity(
    context: LoweringContext, equation: Equation, *operands: Value
) -> Sequence[Value]:
    """Primitives that give back their operands; copies are made where results need them."""
    return list(operands)
