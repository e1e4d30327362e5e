"""Rules for operations along one axis in order: cumulative ones and positions of extremes.

Sums and the like need no rule of ours (StableHLO's `reduce` converts), except over no axes at all.
The combining function of a cumulative operation is traced by JAX for scalars, so it means exactly
what it means elsewhere, for every element type.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.array_types import is_complex, is_floating, is_known_empty, is_unsigned
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.loops import Values, for_each, for_range
from diastase_mlir.lowering.operations import (
    all_of,
    any_of,
    compare_floats,
    compare_integers,
    create,
    index_binary,
    index_constant,
    scalar_constant,
    select,
    to_signless,
)
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.scalar_functions import scalar_aval, scalar_function
from diastase_mlir.lowering.tensors import (
    as_index,
    element_type,
    empty,
    extract,
    generate,
    insert,
    unbox,
)
from diastase_mlir.lowering.windows import identity_of

CUMULATIVE: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": lax.add,
    "cumprod": lax.mul,
    "cummax": lax.max,
    "cummin": lax.min,
    "cumlogsumexp": jnp.logaddexp,
}
"""What combines the result so far with the next element."""


@lowers(
    "reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_or", "reduce_and",
    "reduce_xor",
)  # fmt: skip
def lower_reduce(
    context: LoweringContext, equation: Equation, operand: ir.Value, *_rest: ir.Value
) -> list[ir.Value]:
    """Over no axes, or of an array known to be empty; others are left to JAX's rule."""
    if not len(equation.params["axes"]):
        return [operand]
    (aval,), (result,) = equation.avals_in[:1], equation.avals_out
    name = equation.primitive.name
    if not is_known_empty(aval) or (is_complex(aval.dtype) and name in _EXTREMES):
        return NotImplemented
    neutral = scalar_constant(context.element_type_of(result), _neutral(equation, result.dtype))
    return [_filled(context, result, neutral)]


_EXTREMES = ("reduce_max", "reduce_min")


def _neutral(equation: Equation, dtype: Any) -> Any:
    """What the reduction of nothing gives."""
    kind = equation.primitive.name.removeprefix("reduce_")
    if equation.primitive.name in _EXTREMES:
        return identity_of(equation.primitive.name, dtype)
    return {"prod": 1, "and": -1}.get(kind, 0)


def _filled(context: LoweringContext, aval: Any, number: ir.Value) -> ir.Value:
    return generate([context.size(size) for size in aval.shape], number.type, lambda _: number)


@lowers("reduce")
def lower_generic_reduce(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Of arrays known to be empty: the initial values; others are left to JAX's rule."""
    count = len(operands) // 2
    if not is_known_empty(equation.avals_in[0]) or not equation.params["dimensions"]:
        return NotImplemented
    return [
        _filled(context, aval, unbox(initial))
        for aval, initial in zip(equation.avals_out, operands[count:], strict=True)
    ]


@lowers(*CUMULATIVE)
def lower_cumulative(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """Each element combined with all before it (after it, if reversed) along an axis."""
    aval = equation.avals_in[0]
    axis, backwards = equation.params["axis"], equation.params["reverse"]
    operand = to_signless(operand)
    element = element_type(operand)
    sizes = [context.size(size) for size in aval.shape]
    others = [size for number, size in enumerate(sizes) if number != axis]
    last = index_binary("subi", as_index(sizes[axis]), index_constant(1))
    function = CUMULATIVE[equation.primitive.name]
    combine = scalar_function(context, function, [scalar_aval(aval)] * 2)

    def along(position: Values, outer: Values) -> Values:
        def step(index: ir.Value, inner: Values) -> Values:
            total, result = inner
            place = index_binary("subi", last, index) if backwards else index
            where = _with_axis(position, axis, place)
            value = extract(operand, where)
            is_first = compare_integers("eq", index, index_constant(0))
            total = select(is_first, value, *combine(total, value))
            return [total, insert(total, result, where)]

        initial = [scalar_constant(element, 0), *outer]
        return for_range(context, (0, sizes[axis], 1), initial, step)[1:]

    return for_each(context, others, [empty(sizes, element)], along)


def _with_axis(position: Sequence[ir.Value], axis: int, index: ir.Value) -> list[ir.Value]:
    """A position in all axes, from one in all axes but one."""
    return [*position[:axis], index, *position[axis:]]


@lowers("argmax", "argmin")
def lower_argument_of_extreme(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """The first position of the largest (smallest) element; a NaN counts as both."""
    aval = equation.avals_in[0]
    if is_complex(aval.dtype):
        return NotImplemented
    (axis,) = equation.params["axes"]
    operand = to_signless(operand)
    sizes = [context.size(size) for size in aval.shape]
    result = context.element_type_of(equation.avals_out[0])
    beats = _comparison(equation.primitive.name == "argmax", aval.dtype)

    def formula(position: list[ir.Value]) -> ir.Value:
        def step(index: ir.Value, inner: Values) -> Values:
            best, place = inner
            value = extract(operand, _with_axis(position, axis, index))
            is_first = compare_integers("eq", index, index_constant(0))
            better = any_of([is_first, beats(value, best)])
            return [select(better, value, best), select(better, index, place)]

        initial = [scalar_constant(element_type(operand), 0), index_constant(0)]
        _, place = for_range(context, (0, sizes[axis], 1), initial, step)
        return create("arith.index_cast", [result], [place]).result

    others = [size for number, size in enumerate(sizes) if number != axis]
    return [generate(others, result, formula)]


def _comparison(largest: bool, dtype: Any) -> Callable[[ir.Value, ir.Value], ir.Value]:
    """Whether a new element takes the place of the best so far."""
    if is_floating(dtype):
        predicate = "ogt" if largest else "olt"

        def beats(value: ir.Value, best: ir.Value) -> ir.Value:
            first_nan = all_of(
                [compare_floats("uno", value, value), compare_floats("ord", best, best)]
            )
            return any_of([compare_floats(predicate, value, best), first_nan])

        return beats
    sign = "u" if is_unsigned(dtype) else "s"
    predicate = f"{sign}gt" if largest else f"{sign}lt"
    return lambda value, best: compare_integers(predicate, value, best)
