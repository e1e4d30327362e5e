"""Rules for making and rearranging arrays: fill, broadcast, reshape, slice, reverse, pad.

Arrays of known sizes, with elements, become an operation of StableHLO (`moves`), others loops over
elements. They move elements and never look at them, so elements may be of any type; in loops
unsigned ones travel as signless.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from jax import lax

from diastase_mlir import jax_internals
from diastase_mlir.emit.buffers import allocate, as_tensor, put_element
from diastase_mlir.emit.loops import if_else
from diastase_mlir.emit.operations import (
    all_of,
    clamp_index,
    compare_integers,
    create,
    enumeration,
    index_binary,
    index_constant,
    to_signless,
)
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    extract,
    extract_slice,
    generate,
    insert_slice,
    unbox,
)
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.dimensions import to_index
from diastase_mlir.lowering.moves import (
    concatenate,
    is_known,
    move,
    reshaped,
    sliced,
    spread,
    spread_to,
)
from diastase_mlir.lowering.regions import converted
from diastase_mlir.lowering.registry import Equation, Value, lowers

Position = list[ir.Value]

_FEW = 4
"""Arrays that are told apart one after the other; of more, each choice leaves out half."""


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
    (result,) = equation.avals_out
    operands, kind = [operand, context.shape(result)], context.type_of(result)
    return [create("stablehlo.dynamic_reshape", [kind], operands).result]


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
    operand = to_signless(operand)
    sizes = [context.size(size) for size in shape]
    sizes[axis] = 1
    dropped, strides = frozenset([axis]), [1] * len(sizes)
    return [
        extract_slice(
            operand,
            [number if a == axis else 0 for a in range(len(sizes))],
            sizes,
            strides,
            dropped,
        )
        for number in range(len(equation.avals_out))
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
    sizes = [context.size(size) for size in result.shape]
    # As memory: bufferization compares all updates of an array in pairs.
    stacked = allocate(sizes, context.element_type_of(result))
    for number, value in enumerate(values):
        put_element(value, stacked, index_constant(number), axis)
    return [as_tensor(stacked)]


@lowers("tile")
def lower_tile(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """The array repeated along its axes."""
    shape, result = equation.avals_in[0].shape, equation.avals_out[0].shape
    if is_known(*equation.avals_in, *equation.avals_out):
        pairs = zip(shape, result, strict=True)
        between = [size for own, size in pairs for size in (size // own, own)]
        axes = range(1, 2 * len(shape), 2)
        return [reshaped(spread(operand, between, axes), result)]
    operand = to_signless(operand)
    own = [as_index(context.size(size)) for size in equation.avals_in[0].shape]
    sizes = [context.size(size) for size in equation.avals_out[0].shape]

    def element(position: Position) -> ir.Value:
        pairs = zip(position, own, strict=True)
        return extract(operand, [index_binary("remsi", index, size) for index, size in pairs])

    return [generate(sizes, element_type(operand), element)]


@lowers("dynamic_slice")
def lower_dynamic_slice(
    context: LoweringContext, equation: Equation, operand: ir.Value, *starts: ir.Value
) -> Sequence[ir.Value]:
    """A slice at a computed place, which is moved so that the slice lies inside the array."""
    shape, wanted = equation.avals_in[0].shape, equation.avals_out[0].shape
    if is_known(equation.avals_in[0], *equation.avals_out):
        return [move(context, equation, [operand, *starts], {"slice_sizes": wanted})]
    # What follows the starts are unknown sizes, which we know already.
    offsets = _clamped_starts(context, starts[: len(shape)], shape, wanted)
    sizes = [context.size(size) for size in wanted]
    return [extract_slice(to_signless(operand), offsets, sizes, [1] * len(sizes))]


@lowers("dynamic_update_slice")
def lower_dynamic_update_slice(
    context: LoweringContext,
    equation: Equation,
    operand: ir.Value,
    update: ir.Value,
    *starts: ir.Value,
) -> list[ir.Value]:
    """The array with a slice replaced, at a place that is moved likewise."""
    shape, part = (aval.shape for aval in equation.avals_in[:2])
    if is_known(*equation.avals_in[:2]):
        return [move(context, equation, [operand, update, *starts], {})]
    offsets = _clamped_starts(context, starts, shape, part)
    sizes = [context.size(size) for size in part]
    operand, update = to_signless(operand), to_signless(update)
    return [insert_slice(update, operand, offsets, sizes, [1] * len(sizes))]


def _clamped_starts(
    context: LoweringContext, starts: Sequence[ir.Value], shape: Any, part: Any
) -> list[Size]:
    """Starts for which a part of these sizes lies inside an array of this shape."""
    return [
        clamp_index(to_index(start), context.dimension(size - taken), _is_unsigned(start))
        for start, size, taken in zip(starts, shape, part, strict=True)
    ]


def _is_unsigned(value: ir.Value) -> bool:
    """Whether a value, which may be an `index`, is an unsigned number as JAX's types say it."""
    tensor = isinstance(value.type, ir.RankedTensorType)
    element = ir.RankedTensorType(value.type).element_type if tensor else value.type
    return getattr(element, "is_unsigned", False)


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
    if not equation.params["padding_config"]:
        return [operand]
    if is_known(*equation.avals_in, *equation.avals_out):
        low, high, interior = zip(*equation.params["padding_config"], strict=True)
        amounts = {
            "edge_padding_low": low,
            "edge_padding_high": high,
            "interior_padding": interior,
        }
        return [move(context, equation, [operand, filler], amounts)]
    operand, fill = to_signless(operand), unbox(filler)
    sizes = [context.size(size) for size in equation.avals_out[0].shape]
    configuration = list(
        zip(equation.params["padding_config"], equation.avals_in[0].shape, strict=True)
    )

    def element(position: Position) -> ir.Value:
        source: Position = []
        inside: list[ir.Value] = []
        for index, ((low, _, interior), size) in zip(position, configuration, strict=True):
            distance = index_binary("subi", index, context.dimension(low))
            inside.append(compare_integers("sge", distance, index_constant(0)))
            if jax_internals.is_symbolic(interior) or interior:
                step = index_binary("addi", context.dimension(interior), index_constant(1))
                remainder = index_binary("remsi", distance, step)
                inside.append(compare_integers("eq", remainder, index_constant(0)))
                distance = index_binary("divsi", distance, step)
            inside.append(compare_integers("slt", distance, context.dimension(size)))
            source.append(distance)
        if not inside:
            return extract(operand, [])
        return if_else(
            context,
            all_of(inside),
            [fill.type],
            lambda: [extract(operand, source)],
            lambda: [fill],
        )[0]

    return [generate(sizes, element_type(operand), element)]


@lowers("copy", "copy_p", "optimization_barrier", "stop_gradient", "sharding_constraint", lazy=True)
def lower_identity(
    context: LoweringContext, equation: Equation, *operands: Value
) -> Sequence[Value]:
    """Primitives that give back their operands; copies are made where results need them."""
    return list(operands)
