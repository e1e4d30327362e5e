"""Rules for `gather` and the `scatter` family: reading and writing at computed positions.

Both move *windows*. The last axis of the indices is an index vector; every other axis of the
indices is a batch axis. For each batch position the vector names where a window starts in the
operand, and `Windows` holds which axis of what means what. Modes: `CLIP` moves a window inside the
operand; `FILL_OR_DROP` gives a filler (gather) or writes nothing (scatter) for a window that does
not fit; for `PROMISE_IN_BOUNDS` we do as JAX does on the CPU: clip in gather, drop in scatter.

Indices that are unsigned or narrow are widened first, so that comparisons are signed and exact.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.lax import GatherScatterMode

from diastase_mlir.jax_internals import ir, is_symbolic, least_everywhere
from diastase_mlir.lowering.array_types import is_complex, is_floating, is_unsigned
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.loops import Values, for_each, if_else
from diastase_mlir.lowering.operations import (
    all_of,
    clamp_index,
    compare_integers,
    create,
    index_binary,
    index_constant,
    index_type,
    scalar_constant,
    to_signless,
)
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.tensors import box, element_type, extract, generate, insert, unbox

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
    lasts: Sequence[Any]
    """Last valid start for each of `indexed`: dimension expressions."""


@dataclass(frozen=True)
class Placement:
    """Where the window of one batch position starts, and whether it lies inside."""

    start: list[ir.Value]
    inside: list[ir.Value]


def place(
    context: LoweringContext,
    windows: Windows,
    indices: ir.Value,
    batch: Position,
    unsigned: bool,
    clip: bool,
) -> Placement:
    """Read the index vector at a batch position; with `clip`, the start is moved inside.

    Into an empty array nothing can be moved: then no position is inside.
    """
    start = [index_constant(0)] * windows.rank
    inside: list[ir.Value] = []
    for component, (axis, last) in enumerate(zip(windows.indexed, windows.lasts, strict=True)):
        number = extract(indices, [*batch, index_constant(component)])
        position = _as_index(number, unsigned)
        limit = context.dimension(last)
        if not clip:
            inside.append(compare_integers("sge", position, index_constant(0)))
            inside.append(compare_integers("sle", position, limit))
        elif is_symbolic(last) and least_everywhere(last) < 0:
            inside.append(compare_integers("sge", limit, index_constant(0)))
        start[axis] = clamp_index(position, limit, unsigned) if clip else position
    for axis, batch_axis in windows.batched:
        start[axis] = batch[batch_axis]
    return Placement(start, inside)


def _as_index(number: ir.Value, unsigned: bool) -> ir.Value:
    """An index; an unsigned number of 2**63 or more comes out negative."""
    name = "arith.index_castui" if unsigned else "arith.index_cast"
    return create(name, [index_type()], [number]).result


def within(windows: Windows, start: Position, offset: Position) -> list[ir.Value]:
    """The operand's position for an offset inside a window."""
    position = list(start)
    for axis, step in zip(windows.spanned, offset, strict=True):
        position[axis] = index_binary("addi", position[axis], step)
    return position


def _rest(rank: int, *taken: Sequence[int]) -> list[int]:
    """The axes not taken, in order."""
    gone = {axis for axes in taken for axis in axes}
    return [axis for axis in range(rank) if axis not in gone]


@lowers("gather")
def lower_gather(
    context: LoweringContext, equation: Equation, operand: ir.Value, indices: ir.Value
) -> list[ir.Value]:
    """Windows read at computed positions."""
    operand_aval, index_aval = equation.avals_in
    numbers = equation.params["dimension_numbers"]
    sizes = equation.params["slice_sizes"]
    shape = operand_aval.shape
    # A window of an empty axis cannot be clipped into the operand.
    if any(isinstance(size, int) and size == 0 for size in shape):
        return NotImplemented
    windows = Windows(
        rank=len(shape),
        indexed=numbers.start_index_map,
        spanned=_rest(len(shape), numbers.collapsed_slice_dims, numbers.operand_batching_dims),
        batched=list(
            zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
        ),
        lasts=[shape[axis] - sizes[axis] for axis in numbers.start_index_map],
    )
    operand, indices = to_signless(operand), to_signless(indices)
    element = element_type(operand)
    fill = _filler(equation, operand_aval.dtype, element)
    unsigned = is_unsigned(index_aval.dtype)
    result_shape = equation.avals_out[0].shape
    batch_axes = _rest(len(result_shape), numbers.offset_dims)

    def formula(position: list[ir.Value]) -> ir.Value:
        batch = [position[axis] for axis in batch_axes]
        offset = [position[axis] for axis in numbers.offset_dims]
        placement = place(context, windows, indices, batch, unsigned, clip=fill is None)

        def read() -> ir.Value:
            return extract(operand, within(windows, placement.start, offset))

        if fill is None or not placement.inside:
            return read()
        inside, otherwise = all_of(placement.inside), [fill]
        return if_else(context, inside, [element], lambda: [read()], lambda: otherwise)[0]

    return [generate([context.size(size) for size in result_shape], element, formula)]


def _filler(equation: Equation, dtype: Any, element: ir.Type) -> ir.Value | None:
    """What stands for windows that do not fit; None where they are clipped."""
    mode = GatherScatterMode.from_any(equation.params["mode"])
    if mode != GatherScatterMode.FILL_OR_DROP:
        return None
    value = equation.params["fill_value"]
    if value is not None:
        return scalar_constant(element, value)
    if is_floating(dtype) or is_complex(dtype):
        return scalar_constant(element, np.nan)
    if dtype == np.bool_:
        return scalar_constant(element, True)
    limits = jnp.iinfo(dtype)
    return scalar_constant(element, limits.max if is_unsigned(dtype) else limits.min)


@lowers(
    "scatter", "scatter_add", "scatter-add", "scatter_mul", "scatter-mul", "scatter_min",
    "scatter-min", "scatter_max", "scatter-max", "scatter_sub", "scatter-sub", "scatter_apply",
)  # fmt: skip
def lower_scatter(
    context: LoweringContext,
    equation: Equation,
    operand: ir.Value,
    indices: ir.Value,
    updates: ir.Value,
) -> list[ir.Value]:
    """Windows written, or combined with what is there, at computed positions, in order."""
    operand_aval, index_aval, update_aval = equation.avals_in
    numbers = equation.params["dimension_numbers"]
    mode = GatherScatterMode.from_any(equation.params["mode"])
    shape, rank = operand_aval.shape, len(operand_aval.shape)
    spanned = _rest(rank, numbers.inserted_window_dims, numbers.operand_batching_dims)
    window_axes = numbers.update_window_dims
    batch_axes = _rest(len(update_aval.shape), window_axes)
    extents = dict(zip(spanned, (update_aval.shape[axis] for axis in window_axes), strict=True))
    indexed = numbers.scatter_dims_to_operand_dims
    windows = Windows(
        rank=rank,
        indexed=indexed,
        spanned=spanned,
        batched=list(
            zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
        ),
        lasts=[shape[axis] - extents.get(axis, 1) for axis in indexed],
    )
    operand, indices, updates = (to_signless(value) for value in (operand, indices, updates))
    combine = _combination(context, equation, operand_aval)
    unsigned = is_unsigned(index_aval.dtype)
    clip = mode == GatherScatterMode.CLIP
    batch_sizes = [context.size(update_aval.shape[axis]) for axis in batch_axes]
    window_sizes = [context.size(update_aval.shape[axis]) for axis in window_axes]

    def at_batch(batch: Values, carry: Values) -> Values:
        placement = place(context, windows, indices, batch, unsigned, clip)

        def at_offset(offset: Values, inner: Values) -> Values:
            target = within(windows, placement.start, offset)
            source = _merged(batch_axes, batch, window_axes, offset)
            update = extract(updates, source)
            return [insert(combine(extract(inner[0], target), update), inner[0], target)]

        def write() -> Values:
            return for_each(context, window_sizes, carry, at_offset)

        if not placement.inside:
            return write()
        return if_else(
            context, all_of(placement.inside), [operand.type], write, lambda: list(carry)
        )

    return for_each(context, batch_sizes, [operand], at_batch)


def _merged(
    axes: Sequence[int], position: Position, other_axes: Sequence[int], other: Position
) -> list[ir.Value]:
    """One position from two parts, each of which names its axes."""
    parts = dict(zip(axes, position, strict=True)) | dict(zip(other_axes, other, strict=True))
    return [parts[axis] for axis in sorted(parts)]


def _combination(
    context: LoweringContext, equation: Equation, aval: Any
) -> Callable[[ir.Value, ir.Value], ir.Value]:
    """What is written, from the old element and the update: the primitive's own jaxpr."""
    jaxpr = equation.params["update_jaxpr"]
    if jaxpr is None:
        return lambda old, update: update
    scalar = aval.update(shape=())
    constants = [context.constant(constant) for constant in equation.params["update_consts"]]

    def combine(old: ir.Value, update: ir.Value) -> ir.Value:
        operands = [context.typed(box(value), scalar) for value in (old, update)]
        (result,) = context.lower_inline(jaxpr, constants, operands)
        return unbox(result)

    return combine
