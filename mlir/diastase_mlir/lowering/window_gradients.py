"""Rules for the derivatives of windowed maxima and minima.

Both choose one element of each window by JAX's own comparison, element after element in row-major
order, so that they agree with it on ties and on NaNs.
"""

from typing import Any

import numpy as np
from jax import lax

from diastase_mlir.emit.loops import Values, for_each, if_else
from diastase_mlir.emit.operations import (
    all_of,
    any_of,
    compare_integers,
    flag_constant,
    index_binary,
    index_constant,
    negate,
    scalar_constant,
    select,
    to_signless,
)
from diastase_mlir.emit.tensors import extract, generate, insert
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.scalar_functions import scalar_aval, scalar_function
from diastase_mlir.lowering.windows import (
    WindowAxis,
    identity_of,
    reduce_windows,
    window_axes,
)


@lowers("select_and_gather_add")
def lower_select_and_gather_add(
    context: LoweringContext, equation: Equation, tangents: ir.Value, operand: ir.Value
) -> list[ir.Value]:
    """For each window, the tangent at the place of the operand's largest (smallest) element."""
    tangent_aval, aval = equation.avals_in
    prefers = equation.params["select_prim"]

    def choose(best: Any, tangent: Any, value: Any, its_tangent: Any) -> tuple[Any, Any]:
        stays = prefers.bind(best, value)
        return lax.select(stays, best, value), lax.select(stays, tangent, its_tangent)

    scalars = [scalar_aval(aval), scalar_aval(tangent_aval)]
    element = context.element_type_of(aval)
    worst = -np.inf if prefers.name == "ge" else np.inf
    initial = [scalar_constant(element, number) for number in (worst, 0)]
    axes = window_axes(aval.shape, equation.params)
    shape = equation.avals_out[0].shape
    combine = scalar_function(context, choose, scalars * 2)
    _, chosen = reduce_windows(context, axes, shape, [operand, tangents], initial, combine)
    return [chosen]


@lowers("select_and_scatter_add")
def lower_select_and_scatter_add(
    context: LoweringContext, equation: Equation, source: ir.Value, operand: ir.Value
) -> list[ir.Value]:
    """Each source number added where the largest (smallest) element of its window lies.

    As JAX does it on the CPU, padding takes part with the worst number there is; what is added to
    padding is lost.
    """
    source_aval, aval = equation.avals_in
    element = context.element_type_of(aval)
    source, operand = to_signless(source), to_signless(operand)
    axes = window_axes(aval.shape, equation.params)
    plus = lax.bitwise_or if aval.dtype == np.bool_ else lax.add
    add = scalar_function(context, plus, [scalar_aval(aval)] * 2)

    def window(output: Values, carry: Values) -> Values:
        inside, *place = _chosen(context, equation, axes, operand, output)

        def scatter() -> Values:
            (total,) = add(extract(carry[0], place), extract(source, output))
            return [insert(total, carry[0], place)]

        return if_else(context, inside, [carry[0].type], scatter, lambda: carry)

    sizes = [context.size(size) for size in aval.shape]
    zeros = generate(sizes, element, lambda _: scalar_constant(element, 0))
    return for_each(context, [context.size(size) for size in source_aval.shape], [zeros], window)


def _chosen(
    context: LoweringContext,
    equation: Equation,
    axes: list[WindowAxis],
    operand: ir.Value,
    output: Values,
) -> Values:
    """Whether the best element of a window lies inside of the array, and where."""
    aval = equation.avals_in[1]
    prefers = equation.params["select_prim"]
    keeps = scalar_function(context, prefers.bind, [scalar_aval(aval)] * 2)
    suffix = "_max" if prefers.name == "ge" else "_min"
    element = context.element_type_of(aval)
    worst = scalar_constant(element, identity_of(suffix, aval.dtype))

    def compare(taps: Values, best: Values) -> Values:
        started, _, number = best[:3]
        position = [
            _place(context, axis, index, tap)
            for axis, index, tap in zip(axes, output, taps, strict=True)
        ]
        is_inside = _is_inside(context, axes, position)
        (candidate,) = if_else(
            context, is_inside, [element], lambda: [extract(operand, position)], lambda: [worst]
        )
        takes = any_of([negate(started), negate(keeps(number, candidate)[0])])
        found = [is_inside, candidate, *position]
        chosen = [select(takes, new, old) for new, old in zip(found, best[1:], strict=True)]
        return [flag_constant(True), *chosen]

    nowhere = [flag_constant(False), flag_constant(False), worst, *[index_constant(0)] * len(axes)]
    windows = [context.size(axis.window) for axis in axes]
    _, inside, _, *place = for_each(context, windows, nowhere, compare)
    return [inside, *place]


def _place(context: LoweringContext, axis: WindowAxis, output: ir.Value, tap: ir.Value) -> ir.Value:
    """The position of a tap along an axis; outside of the array in its padding."""
    start = index_binary("muli", output, context.dimension(axis.stride))
    return index_binary("subi", index_binary("addi", start, tap), context.dimension(axis.low))


def _is_inside(context: LoweringContext, axes: list[WindowAxis], position: Values) -> ir.Value:
    inside = [flag_constant(True)]
    for axis, index in zip(axes, position, strict=True):
        inside.append(compare_integers("sge", index, index_constant(0)))
        inside.append(compare_integers("slt", index, context.dimension(axis.size)))
    return all_of(inside)
