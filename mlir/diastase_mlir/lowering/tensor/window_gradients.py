"""Rules for the derivatives of windowed maxima and minima.

Both choose one element of each window by JAX's own comparison, element after element in row-major
order, so that they agree with it on ties and on NaNs.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from diastase_mlir import jax_compat
from diastase_mlir.emit.operations import array_attribute, create
from diastase_mlir.emit.tensors import element_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers
from diastase_mlir.lowering.elementwise.regions import fill_by_jax, fill_by_operation, scalar_aval
from diastase_mlir.lowering.tensor.windows import identity_of, reduce_windows


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
    worst = -np.inf if prefers.name == "ge" else np.inf
    initial = [
        context.constant(np.asarray(number, scalar.dtype))
        for number, scalar in zip((worst, 0), scalars, strict=True)
    ]
    (result,) = equation.avals_out
    results = [result.update(dtype=aval.dtype), result]
    operands = [operand, tangents, *initial]
    _, chosen = reduce_windows(
        context,
        equation,
        operands,
        results,
        lambda region: fill_by_jax(context, region, choose, scalars * 2),
    )
    return [chosen]


@lowers("select_and_scatter_add")
def lower_select_and_scatter_add(
    context: LoweringContext, equation: Equation, source: ir.Value, operand: ir.Value
) -> list[ir.Value]:
    """Each source number added where the largest (smallest) element of its window lies.

    As JAX does it on the CPU, padding takes part with the worst number there is; what is added to
    padding is lost.
    """
    aval, params = equation.avals_in[1], equation.params
    suffix = "_max" if params["select_prim"].name == "ge" else "_min"
    worst = np.asarray(identity_of(suffix, aval.dtype), aval.dtype)
    around = [(low, high, 0) for low, high in params["padding"]]
    if all(low == high == 0 for low, high, _ in around):
        return [_scattered(context, equation, source, operand, aval)]
    lows = [low for low, _, _ in around]
    without = [(-low, -high, 0) for low, high, _ in around]
    shape = [size + low + high for size, (low, high, _) in zip(aval.shape, around, strict=True)]
    padded = aval.update(shape=tuple(shape))

    def pad(array: jax.Array) -> tuple[jax.Array]:
        return (lax.pad(array, worst, around),)

    def cut(array: jax.Array) -> tuple[jax.Array]:
        if all(isinstance(low, int) and low >= 0 for low in lows):
            ends = [low + size for low, size in zip(lows, aval.shape, strict=True)]
            return (lax.slice(array, lows, ends),)
        return (lax.pad(array, np.zeros((), aval.dtype), without),)

    (operand,) = context.lower_function(pad, [aval], [operand])
    scattered = _scattered(context, equation, source, operand, padded)
    return context.lower_function(cut, [padded], [scattered])


def _scattered(
    context: LoweringContext, equation: Equation, source: ir.Value, operand: ir.Value, aval: Any
) -> ir.Value:
    """The same without padding."""
    params, kind = equation.params, context.type_of(aval)
    zero = context.constant(np.zeros((), aval.dtype))
    operands: Sequence[ir.Value] = [operand, source, zero]
    numbers = {name: params[name] for name in ("window_dimensions", "window_strides")}
    if any(jax_compat.is_symbolic(number) for own in numbers.values() for number in own):
        operands = [*operands, *(context.vector(own) for own in numbers.values())]
        operation = create("runtime.select_and_scatter", [kind], operands, regions=2)
    else:
        attributes = {name: array_attribute("i64", own) for name, own in numbers.items()}
        name = "stablehlo.select_and_scatter"
        operation = create(name, [kind], operands, attributes, regions=2)
    prefers, pair = params["select_prim"], [scalar_aval(aval)] * 2
    fill_by_jax(context, operation.regions[0], lambda a, b: (prefers.bind(a, b),), pair)
    plus = "or" if aval.dtype == np.bool_ else "add"
    fill_by_operation(context, operation.regions[1], plus, element_type(operand))
    return operation.result
