"""Rules for `gather` and the `scatter` family: reading and writing at computed positions.

StableHLO's `gather` moves a window that does not fit inside the operand, its `scatter` drops it.
Modes: `CLIP` moves a window inside the operand; `FILL_OR_DROP` gives a filler (gather) or writes
nothing (scatter) for a window that does not fit; for `PROMISE_IN_BOUNDS` we do as JAX does on the
CPU: clip in gather, drop in scatter. JAX's rules do the same with sizes known at run time only.
"""

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.lax import GatherScatterMode

from diastase_mlir.emit.operations import array_attribute, binary, create
from diastase_mlir.emit.tensors import tensor_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_complex, is_floating, is_unsigned
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.lowering.elementwise.moves import is_known, reshaped, sliced, spread
from diastase_mlir.lowering.elementwise.regions import fill


@lowers("gather")
def lower_gather(
    context: LoweringContext, equation: Equation, operand: ir.Value, indices: ir.Value
) -> list[ir.Value]:
    """Windows read at computed positions."""
    fills = _mode(equation) == GatherScatterMode.FILL_OR_DROP
    operand_aval, index_aval = equation.avals_in
    sizes, (result,) = equation.params["slice_sizes"], equation.avals_out
    # A window of an empty axis cannot be clipped into the operand.
    if 0 in operand_aval.shape or (fills and not is_known(operand_aval, index_aval, result)):
        return NotImplemented
    axes = equation.params["dimension_numbers"]
    attributes = {
        "dimension_numbers": _dimension_numbers(
            "gather",
            index_aval,
            {
                "offset_dims": axes.offset_dims,
                "collapsed_slice_dims": axes.collapsed_slice_dims,
                "operand_batching_dims": axes.operand_batching_dims,
                "start_indices_batching_dims": axes.start_indices_batching_dims,
                "start_index_map": axes.start_index_map,
            },
        ),
        "indices_are_sorted": ir.BoolAttr.get(equation.params["indices_are_sorted"]),
    }
    kind = context.type_of(result)
    if not all(isinstance(size, int) for size in sizes):
        operands = [operand, indices, context.vector(sizes)]
        return [create("stablehlo.dynamic_gather", [kind], operands, attributes).result]
    attributes["slice_sizes"] = array_attribute("i64", sizes)
    windows = create("stablehlo.gather", [kind], [operand, indices], attributes).result
    lasts = [operand_aval.shape[axis] - sizes[axis] for axis in axes.start_index_map]
    fits = _fits(context, indices, index_aval, lasts) if fills else None
    if fits is None:
        return [windows]
    batch_axes = [axis for axis in range(len(result.shape)) if axis not in axes.offset_dims]
    filler = context.constant(_filler(equation, operand_aval.dtype))
    choice = [spread(fits, result.shape, batch_axes), windows, spread(filler, result.shape, [])]
    return [create("stablehlo.select", [kind], choice).result]


def _mode(equation: Equation) -> GatherScatterMode:
    return GatherScatterMode.from_any(equation.params["mode"])


def _fits(
    context: LoweringContext, indices: ir.Value, aval: Any, lasts: Sequence[int]
) -> ir.Value | None:
    """For each batch position, whether its window lies inside; None where all of them do."""
    unsigned, limits = is_unsigned(aval.dtype), jnp.iinfo(aval.dtype)
    *batch, count = aval.shape
    flags: list[ir.Value] = []
    for component, last in zip(range(count), lasts, strict=True):
        start = _component(indices, batch, component)
        for direction, bound in (("ge", 0), ("le", last)):
            if bound > limits.max or (unsigned and direction == "ge"):
                continue
            number = spread(context.constant(np.asarray(bound, aval.dtype)), batch, [])
            order = "UNSIGNED" if unsigned else "SIGNED"
            flags.append(compared(direction, order, start, number))
    if not flags:
        return None
    return reduce(partial(binary, "stablehlo.and"), flags)


def _component(indices: ir.Value, batch: Sequence[int], number: int) -> ir.Value:
    """One number of each index vector; seen through what made a vector of it.

    Loops over what is left of a reshape are not joined with those over the windows.
    """
    owner = indices.owner
    column = [*batch, 1]
    name = "" if isinstance(owner, ir.Block) else owner.name
    made: Any = owner
    if name == "stablehlo.concatenate":
        parts = list(made.operands)
        if all(tensor_type(part).shape == column for part in parts):
            return _component(parts[number], batch, 0)
    if name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        source = made.operands[0]
        keeps = tensor_type(indices).shape == column and tensor_type(source).shape == [*batch]
        if keeps and (name.endswith("reshape") or _is_in_order(made)):
            return source
    part = sliced(indices, [0] * len(batch) + [number], column, [1] * len(column))
    return reshaped(part, batch)


def _is_in_order(broadcast: Any) -> bool:
    axes = list(ir.DenseI64ArrayAttr(broadcast.attributes["broadcast_dimensions"]))
    return axes == [*range(len(axes))]


def _filler(equation: Equation, dtype: Any) -> Any:
    """What stands for windows that do not fit."""
    value = equation.params["fill_value"]
    if value is None:
        if is_floating(dtype) or is_complex(dtype):
            value = np.nan
        elif dtype == np.bool_:
            value = True
        else:
            value = jnp.iinfo(dtype).max if is_unsigned(dtype) else jnp.iinfo(dtype).min
    return np.asarray(value, dtype)


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
    operand_aval, index_aval, _ = equation.avals_in
    axes = equation.params["dimension_numbers"]
    if _mode(equation) == GatherScatterMode.CLIP:
        return NotImplemented
    attributes = {
        "scatter_dimension_numbers": _dimension_numbers(
            "scatter",
            index_aval,
            {
                "update_window_dims": axes.update_window_dims,
                "inserted_window_dims": axes.inserted_window_dims,
                "input_batching_dims": axes.operand_batching_dims,
                "scatter_indices_batching_dims": axes.scatter_indices_batching_dims,
                "scatter_dims_to_operand_dims": axes.scatter_dims_to_operand_dims,
            },
        ),
        "indices_are_sorted": ir.BoolAttr.get(equation.params["indices_are_sorted"]),
        "unique_indices": ir.BoolAttr.get(equation.params["unique_indices"]),
    }
    kinds, operands = [context.type_of(equation.avals_out[0])], [operand, indices, updates]
    operation = create("stablehlo.scatter", kinds, operands, attributes, regions=1)
    number = context.type_of(operand_aval.update(shape=()))
    fill(context, operation.regions[0], [number] * 2, partial(_combined, context, equation))
    return [operation.result]


def _combined(
    context: LoweringContext, equation: Equation, pair: Sequence[ir.Value]
) -> Sequence[ir.Value]:
    """What is written, from the old element and the update: the primitive's own jaxpr."""
    jaxpr = equation.params["update_jaxpr"]
    if jaxpr is None:
        return pair[1:]
    constants = [context.constant(constant) for constant in equation.params["update_consts"]]
    return context.lower_inline(jaxpr, constants, pair)


def _dimension_numbers(
    name: str, index_aval: Any, axes: Mapping[str, Sequence[int]]
) -> ir.Attribute:
    """Which axis is what; the last one of the indices is the index vector."""
    given = [f"{key} = {[*map(int, own)]}" for key, own in axes.items() if own]
    given.append(f"index_vector_dim = {len(index_aval.shape) - 1}")
    return ir.Attribute.parse(f"#stablehlo.{name}<{', '.join(given)}>")
