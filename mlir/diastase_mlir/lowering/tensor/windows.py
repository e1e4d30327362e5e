"""Reductions over windows that slide over an array, and cumulative operations along one axis.

    %0 = stablehlo.reduce_window %a, %x, window = [3], strides = [2], padding = [[1, 1]] { … }

`runtime.reduce_window`, which takes vectors for all these numbers, where they are known only when
the program runs. What stands in the padding, and in holes between elements, counts for nothing
(`passes/tensors/arrays_to_loops/windows`).

A cumulative operation along an axis of known size has windows as long as the axis that begin in
front of the array, or end behind it. Where the size is not known, or no operation of StableHLO
combines, it is a `runtime.cumulative`, whose combining function JAX traces for numbers, so that it
means what it means elsewhere, for every element type.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir import jax_compat
from diastase_mlir.emit.loops import Values
from diastase_mlir.emit.operations import array_attribute, create, enumeration
from diastase_mlir.emit.tensors import element_type, tensor_type
from diastase_mlir.errors import LoweringError
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_complex, is_floating
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers
from diastase_mlir.lowering.elementwise.moves import is_known
from diastase_mlir.lowering.elementwise.regions import (
    fill,
    fill_by_jax,
    fill_by_operation,
    scalar_aval,
    split,
)


def reduce_windows(
    context: LoweringContext,
    equation: Equation,
    operands: Sequence[ir.Value],
    avals: Sequence[Any],
    fill_region: Callable[[ir.Region], None],
) -> Values:
    """For each window of arrays, its elements combined; arrays first, then the initial values."""
    params, kinds = equation.params, [context.type_of(aval) for aval in avals]
    ones = (1,) * len(avals[0].shape)
    names = ("window_dimensions", "window_strides", "base_dilation", "window_dilation")
    numbers = [params.get(name) or ones for name in names]
    padding = params["padding"]
    if any(map(jax_compat.is_symbolic, chain(*numbers, *padding))):
        vectors = [context.vector(own) for own in (*numbers, [low for low, _ in padding])]
        groups = [_as_one(list(group)) for group in split(operands, len(avals))]
        given, kind = [*groups, context.shape(avals[0]), *vectors], _type_as_one(kinds)
        operation = create("runtime.reduce_window", [kind], given, regions=1)
        fill_region(operation.regions[0])
        return _as_several(operation.result, kinds)
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    pairs = zip(names, numbers, strict=True)
    attributes = {name: array_attribute("i64", own) for name, own in pairs}
    pads = np.array(padding, np.int64).reshape(-1, 2)
    attributes["padding"] = elements_attribute(pads)
    operation = create("stablehlo.reduce_window", kinds, operands, attributes, regions=1)
    fill_region(operation.regions[0])
    return list(operation.results)


def _as_one(values: Sequence[ir.Value]) -> ir.Value:
    """Values as a tuple, if there are several."""
    if len(values) == 1:
        return values[0]
    return create("stablehlo.tuple", [_type_as_one([own.type for own in values])], values).result


def _type_as_one(kinds: Sequence[ir.Type]) -> ir.Type:
    return kinds[0] if len(kinds) == 1 else ir.TupleType.get_tuple(list(kinds))


def _as_several(value: ir.Value, kinds: Sequence[ir.Type]) -> Values:
    if len(kinds) == 1:
        return [value]
    index = ir.IntegerType.get_signless(32)
    return [
        create(
            "stablehlo.get_tuple_element",
            [kind],
            [value],
            {"index": ir.IntegerAttr.get(index, number)},
        ).result
        for number, kind in enumerate(kinds)
    ]


def elements_attribute(numbers: Any) -> ir.Attribute:
    """An attribute that is an array; the bindings' types know no such argument."""
    return ir.DenseIntElementsAttr.get(numbers)


MONOIDS = {
    "reduce_window_sum": "add",
    "reduce_window_max": "maximum",
    "reduce_window_min": "minimum",
}
"""What combines the elements of a window."""


@lowers(*MONOIDS)
def lower_reduce_window_monoid(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """Sum, largest or smallest element of each window."""
    (aval,), name = equation.avals_in, equation.primitive.name
    if is_complex(aval.dtype) and name != "reduce_window_sum":
        return NotImplemented
    initial = context.constant(np.asarray(identity_of(name, aval.dtype), aval.dtype))
    return reduce_windows(
        context,
        equation,
        [operand, initial],
        equation.avals_out,
        lambda region: fill_by_operation(context, region, MONOIDS[name], element_type(operand)),
    )


def identity_of(name: str, dtype: Any) -> Any:
    """The number that changes nothing, for a primitive that ends in `_sum`, `_max` or `_min`."""
    if name.endswith("_sum"):
        return 0
    largest = name.endswith("_min")
    if is_floating(dtype):
        return np.inf if largest else -np.inf
    if dtype == np.bool_:
        return largest
    limits = jnp.iinfo(dtype)
    return limits.max if largest else limits.min


@lowers("reduce_window")
def lower_reduce_window(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Windows of several arrays at once, combined by any function, from any initial value."""
    count, params = len(operands) // 2, equation.params
    avals, _ = split(equation.avals_in, count)
    if any(jax_compat.is_extended(aval.dtype) for aval in avals):
        return NotImplemented
    constants = [context.constant(constant) for constant in params["consts"]]
    kinds = [context.type_of(scalar_aval(aval)) for aval in avals] * 2

    def combined(values: Sequence[ir.Value]) -> Sequence[ir.Value]:
        return context.lower_inline(params["jaxpr"], constants, values)

    return reduce_windows(
        context,
        equation,
        operands,
        equation.avals_out,
        lambda region: fill(context, region, kinds, combined),
    )


CUMULATIVE: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": lax.add,
    "cumprod": lax.mul,
    "cummax": lax.max,
    "cummin": lax.min,
    "cumlogsumexp": jnp.logaddexp,
}
"""What combines the result so far with the next element."""

_OPERATIONS = {"cumsum": "add", "cumprod": "multiply", "cummax": "maximum", "cummin": "minimum"}


@lowers(*CUMULATIVE)
def lower_cumulative(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """Each element combined with all before it (after it, if reversed) along an axis."""
    (aval,), name = equation.avals_in, equation.primitive.name
    axis, backwards = equation.params["axis"], equation.params["reverse"]
    if name == "cumlogsumexp" and not jnp.issubdtype(aval.dtype, jnp.inexact):
        reason = "the results would not be of that type"
        raise LoweringError(primitive=f"{name} of {aval.dtype}", reason=reason)
    simple = name in ("cumsum", "cumprod") or not is_complex(aval.dtype)
    if is_known(aval) and name in _OPERATIONS and simple:
        neutral = context.constant(np.asarray(_neutral(name, aval.dtype), aval.dtype))
        return [_windows(context, operand, neutral, _OPERATIONS[name], axis, backwards)]
    attributes = {"axis": enumeration(axis), "reverse": ir.BoolAttr.get(backwards)}
    kind = operand.type
    operation = create("runtime.cumulative", [kind], [operand], attributes, regions=1)
    combination = CUMULATIVE[name]
    fill_by_jax(
        context, operation.regions[0], lambda *pair: (combination(*pair),), [scalar_aval(aval)] * 2
    )
    return [operation.result]


def _neutral(name: str, dtype: Any) -> Any:
    """The number that changes nothing; of zeros, the negative one does not."""
    if name in ("cumsum", "cumprod"):
        return -0.0 if name == "cumsum" else 1
    return identity_of(name.replace("cum", "reduce_window_"), dtype)


def _windows(
    context: LoweringContext,
    operand: ir.Value,
    neutral: ir.Value,
    name: str,
    axis: int,
    backwards: bool,
) -> ir.Value:
    """For each place along the axis, a window as long as the axis that ends (begins) there."""
    kind = tensor_type(operand)
    window, padding = [1] * kind.rank, np.zeros((kind.rank, 2), np.int64)
    window[axis] = kind.shape[axis]
    padding[axis, 1 if backwards else 0] = window[axis] - 1
    attributes = {
        "window_dimensions": array_attribute("i64", window),
        "padding": elements_attribute(padding),
    }
    operation = create("stablehlo.reduce_window", [kind], [operand, neutral], attributes, regions=1)
    fill_by_operation(context, operation.regions[0], name, kind.element_type)
    return operation.result
