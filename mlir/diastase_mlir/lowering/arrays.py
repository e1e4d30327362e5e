"""Rules for making and rearranging arrays: fill, broadcast, reshape, slice, reverse, pad.

Each serves known and unknown sizes alike. They move elements and never look at them, so elements
may be of any type; unsigned ones travel as signless. What moves single numbers and short vectors
is deferred (`pieces`).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from jax import lax

from diastase_mlir import jax_internals
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.array_types import is_complex, is_floating
from diastase_mlir.lowering.buffers import allocate, as_tensor, put_element
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.deferred import Elements, Number
from diastase_mlir.lowering.dimensions import number_tensor, to_index
from diastase_mlir.lowering.loops import if_else
from diastase_mlir.lowering.operations import (
    all_of,
    clamp_index,
    compare_integers,
    create,
    index_binary,
    index_constant,
    integer_type,
    scalar_constant,
    to_signless,
)
from diastase_mlir.lowering.pieces import (
    as_elements,
    as_number,
    as_numbers,
    as_slice,
    as_slices,
    as_vector,
    chosen,
    is_element,
    is_static,
    is_worthwhile,
    joined,
)
from diastase_mlir.lowering.registry import Equation, Value, lowers
from diastase_mlir.lowering.tensors import (
    Size,
    as_index,
    element_type,
    extract,
    extract_slice,
    generate,
    insert_slice,
    reshape,
    unbox,
)

Position = list[ir.Value]


@lowers("dim_as_value")
def lower_dim_as_value(context: LoweringContext, equation: Equation) -> list[ir.Value]:
    """A size as a number of the program."""
    tensor = number_tensor(context.dimension(equation.params["dim"]))
    element = context.element_type_of(equation.avals_out[0])
    if element == integer_type(64):
        return [tensor]
    number = create("arith.trunci", [element], [unbox(tensor)]).result
    return [generate([], element, lambda _: number)]


@lowers("iota")
def lower_iota(context: LoweringContext, equation: Equation, *_sizes: ir.Value) -> list[ir.Value]:
    """Positions along an axis, as numbers of any type."""
    aval, axis = equation.avals_out[0], equation.params["dimension"]
    if is_static(aval) and 0 not in aval.shape:
        return NotImplemented  # JAX's rule has one operation for it
    element = context.element_type_of(aval)
    sizes = [context.size(size) for size in aval.shape]
    return [generate(sizes, element, lambda p: _number(p[axis], element, aval.dtype))]


def _number(index: ir.Value, element: ir.Type, dtype: Any) -> ir.Value:
    """An `index` as a number of an element type."""
    integer = element if not (is_floating(dtype) or is_complex(dtype)) else integer_type(64)
    number = create("arith.index_cast", [integer], [index]).result
    if is_floating(dtype):
        return create("arith.sitofp", [element], [number]).result
    if is_complex(dtype):
        part = ir.ComplexType(element).element_type
        real = create("arith.sitofp", [part], [number]).result
        return create("complex.create", [element], [real, scalar_constant(part, 0)]).result
    return number


@lowers("broadcast_in_dim", lazy=True)
def lower_broadcast_in_dim(
    context: LoweringContext, equation: Equation, value: Value, *_sizes: Value
) -> Sequence[Value]:
    """Repetition along new axes and along axes of size 1."""
    vector = as_vector(equation, value)
    if vector is not None:
        return [vector]
    operand = to_signless(context.value(value))
    shape = equation.avals_in[0].shape
    axes = equation.params["broadcast_dimensions"]
    sizes = [context.size(size) for size in equation.avals_out[0].shape]
    if not shape:  # the element is known before the loop
        scalar = unbox(operand)
        return [generate(sizes, scalar.type, lambda _: scalar)]

    def element(position: Position) -> ir.Value:
        source = [
            index_constant(0) if size == 1 else position[axis]
            for size, axis in zip(shape, axes, strict=True)
        ]
        return extract(operand, source)

    return [generate(sizes, element_type(operand), element)]


@lowers("reshape", "squeeze", "expand_dims", lazy=True)
def lower_reshape(
    context: LoweringContext, equation: Equation, value: Value, *_sizes: Value
) -> Sequence[Value]:
    """The same elements under another shape."""
    deferred = as_vector(equation, value) or as_number(equation, value)
    if deferred is not None:
        return [deferred]
    operand = context.value(value)
    order = equation.params.get("dimensions") if equation.primitive.name == "reshape" else None
    if order is not None:
        plain = partial(lax.reshape, new_sizes=equation.avals_out[0].shape)
        return context.lower_function(
            lambda array: (plain(lax.transpose(array, order)),), equation.avals_in[:1], [operand]
        )
    source, shape = equation.avals_in[0].shape, equation.avals_out[0].shape
    if tuple(source) == tuple(shape):
        return [operand]
    return [reshape(to_signless(operand), [context.size(size) for size in shape])]


@lowers("slice", lazy=True)
def lower_slice(context: LoweringContext, equation: Equation, value: Value) -> Sequence[Value]:
    """A strided slice with bounds that are sizes."""
    part = as_slice(equation, value)
    if part is not None:
        return [part]
    operand = context.value(value)
    shape = equation.avals_out[0].shape
    strides = equation.params["strides"] or [1] * len(shape)
    offsets = [context.size(start) for start in equation.params["start_indices"]]
    sizes = [context.size(size) for size in shape]
    steps = [context.size(stride) for stride in strides]
    return [extract_slice(to_signless(operand), offsets, sizes, steps)]


@lowers("split", lazy=True)
def lower_split(context: LoweringContext, equation: Equation, value: Value) -> Sequence[Value]:
    """Consecutive parts along an axis."""
    slices = as_slices(equation, value)
    if slices is not None:
        return slices
    axis, operand = equation.params["axis"], to_signless(context.value(value))
    parts: list[ir.Value] = []
    start: Any = 0
    for extent, aval in zip(equation.params["sizes"], equation.avals_out, strict=True):
        sizes = [context.size(size) for size in aval.shape]
        offsets: list[Size] = [0] * len(sizes)
        offsets[axis] = context.size(start)
        parts.append(extract_slice(operand, offsets, sizes, [1] * len(sizes)))
        start = start + extent
    return parts


@lowers("unstack", lazy=True)
def lower_unstack(context: LoweringContext, equation: Equation, value: Value) -> Sequence[Value]:
    """The parts of size 1 along an axis, without it; a primitive from jax 0.12 on."""
    numbers = as_numbers(equation, value)
    if numbers is not None:
        return numbers
    axis, operand = equation.params["axis"], to_signless(context.value(value))
    sizes = [context.size(size) for size in equation.avals_in[0].shape]
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


@lowers("stack", lazy=True)
def lower_stack(context: LoweringContext, equation: Equation, *values: Value) -> Sequence[Value]:
    """Arrays side by side along a new axis; a primitive from jax 0.12 on."""
    vector = as_elements(equation, values)
    if vector is not None:
        return [vector]
    axis, (result,) = equation.params["axis"], equation.avals_out
    sizes = [context.size(size) for size in result.shape]
    # As memory: bufferization compares all updates of an array in pairs.
    stacked = allocate(sizes, context.element_type_of(result))
    for number, value in enumerate(values):
        put_element(context.value(value), stacked, index_constant(number), axis)
    return [as_tensor(stacked)]


@lowers("tile")
def lower_tile(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """The array repeated along its axes."""
    operand = to_signless(operand)
    own = [as_index(context.size(size)) for size in equation.avals_in[0].shape]
    sizes = [context.size(size) for size in equation.avals_out[0].shape]

    def element(position: Position) -> ir.Value:
        pairs = zip(position, own, strict=True)
        return extract(operand, [index_binary("remsi", index, size) for index, size in pairs])

    return [generate(sizes, element_type(operand), element)]


@lowers("dynamic_slice", lazy=True)
def lower_dynamic_slice(
    context: LoweringContext, equation: Equation, value: Value, *starts: Value
) -> Sequence[Value]:
    """A slice at a computed place, which is moved so that the slice lies inside the array."""
    shape, wanted = equation.avals_in[0].shape, equation.avals_out[0].shape
    # What follows the starts are unknown sizes, which we know already.
    positions = [_position(context, start) for start in starts[: len(shape)]]
    offsets = _clamped_starts(context, positions, shape, wanted)
    sizes = [context.size(size) for size in wanted]
    operand = context.value(value)
    if is_element(equation):
        # Now, not when it is asked for: by then the array may have been written over.
        return [Elements([extract(operand, [as_index(offset) for offset in offsets])])]
    return [extract_slice(to_signless(operand), offsets, sizes, [1] * len(sizes))]


def _position(context: LoweringContext, start: Value) -> ir.Value:
    """A number as it is, if it is one that is no array."""
    return start.scalar if isinstance(start, Number) else context.value(start)


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


@lowers("concatenate", lazy=True)
def lower_concatenate(
    context: LoweringContext, equation: Equation, *values: Value
) -> Sequence[Value]:
    """Arrays one behind the other along an axis."""
    pieces = joined(equation, values)
    if not is_worthwhile(pieces, values):
        return NotImplemented
    if len(pieces) == 1:
        return [pieces[0].value]
    return [chosen(context, equation, pieces)]


@lowers("rev", lazy=True)
def lower_rev(context: LoweringContext, equation: Equation, value: Value) -> Sequence[Value]:
    """The array with some axes reversed."""
    shape, reversed_axes = equation.avals_in[0].shape, equation.params["dimensions"]
    if all(shape[axis] == 1 for axis in reversed_axes):
        return [value]
    if isinstance(value, Elements):
        return [Elements(value.scalars[::-1])]
    operand = to_signless(context.value(value))
    sizes = [context.size(size) for size in equation.avals_out[0].shape]
    lasts = [index_binary("subi", as_index(size), index_constant(1)) for size in sizes]

    def element(position: Position) -> ir.Value:
        source = [
            index_binary("subi", last, index) if axis in reversed_axes else index
            for axis, (last, index) in enumerate(zip(lasts, position, strict=True))
        ]
        return extract(operand, source)

    return [generate(sizes, element_type(operand), element)]


@lowers("pad")
def lower_pad(
    context: LoweringContext, equation: Equation, operand: ir.Value, filler: ir.Value
) -> list[ir.Value]:
    """Elements set apart and surrounded by a value; negative amounts cut off instead."""
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
