"""Elementwise arithmetic: an operation of StableHLO for each equation, on numbers as on arrays.

JAX's own rules make the same operations; they take ten times as long, and programs have thousands
of these. In: equations on floats of 32 and 64 bits, signed integers and flags whose operands have
the result's shape, or are numbers beside an array of known sizes. What is not in the tables goes
the way of all other equations.

Conversion of floats to integers is StableHLO's, which saturates (`emit.operations`). Arithmetic on
16-bit floats is done in 32 bits and rounded once, as XLA does it on the CPU: libraries lack
functions for them, and polynomials in 16 bits lose most digits.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial, reduce
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase_mlir.emit.operations import array_attribute, binary, create, integer_type
from diastase_mlir.emit.tensors import tensor_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_floating
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers

_KINDS = {
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "float",
    np.dtype(np.int32): "integer",
    np.dtype(np.int64): "integer",
    np.dtype(np.bool_): "flag",
}

_FLOATS = {
    "abs": "abs", "add": "add", "add_any": "add", "atan2": "atan2", "cbrt": "cbrt",
    "ceil": "ceil", "cos": "cosine", "div": "divide", "exp": "exponential",
    "expm1": "exponential_minus_one", "floor": "floor", "log": "log", "log1p": "log_plus_one",
    "max": "maximum", "min": "minimum", "mul": "multiply", "neg": "negate", "pow": "power",
    "rem": "remainder", "rsqrt": "rsqrt", "sin": "sine", "sqrt": "sqrt", "sub": "subtract",
    "tan": "tan", "tanh": "tanh",
}  # fmt: skip

_POINTWISE = {
    "float": _FLOATS,
    "integer": {name: _FLOATS[name] for name in ("add", "add_any", "max", "min", "mul", "sub")},
    "flag": {"and": "and", "or": "or", "xor": "xor"},
}

_DIRECTIONS = frozenset(("eq", "ge", "gt", "le", "lt", "ne"))

_UNCHANGED = frozenset({"copy", "copy_p", "stop_gradient"})

_CONVERSIONS = {"convert_element_type"}

_OTHERS = _CONVERSIONS | {"integer_pow", "select_n", "square"}

_NAMES = _UNCHANGED.union(_OTHERS, _DIRECTIONS, *_POINTWISE.values())


def lower_elementwise(
    context: LoweringContext, equation: Equation, operands: Sequence[Value]
) -> Sequence[Value] | None:
    """The result of elementwise arithmetic; None for everything else."""
    name = equation.primitive.name
    if name not in _NAMES:
        return None
    kinds = [_kind(aval) for aval in equation.avals_in]
    if None in kinds or _kind(equation.avals_out[0]) is None:
        return None
    if name in _UNCHANGED or (name in _CONVERSIONS and _same_types(equation)):
        return list(operands)
    emit = _emitter(name, equation, kinds)
    if emit is None:
        return None
    result: Any = context.type_of(equation.avals_out[0])
    if not result.has_static_shape and not _have_its_shape(equation):
        return None
    values = [context.value(operand) for operand in operands]
    arrays = values[1:] if name == "select_n" else values
    spread = _spread(arrays, result)
    if spread is None or (name == "select_n" and not _fits(values[0], result)):
        return None
    return [emit(result, *values[: len(values) - len(arrays)], *spread)]


def _same_types(equation: Equation) -> bool:
    """Whether only the types' being weak differs."""
    return equation.avals_in[0].dtype == equation.avals_out[0].dtype


def _kind(aval: Any) -> str | None:
    """Whether the elements are floats, signed integers or flags, as the tables have them."""
    return _KINDS.get(getattr(aval, "dtype", None))  # pyright: ignore[reportArgumentType]


def _have_its_shape(equation: Equation) -> bool:
    """Whether all operands have the result's unknown sizes, none of them by an assumption."""
    shape = equation.avals_out[0].shape
    return all(len(aval.shape) == len(shape) and aval.shape == shape for aval in equation.avals_in)


def _spread(values: Sequence[ir.Value], result: Any) -> list[ir.Value] | None:
    """The operands in the result's shape; None where that is not known to be theirs."""
    shape, spread = result.shape, list[ir.Value]()
    for value in values:
        kind = ir.RankedTensorType(value.type)
        if kind.shape == shape:
            spread.append(value)
        elif kind.rank == 0 and result.has_static_shape:
            spread.append(repeated(value, ir.RankedTensorType.get(shape, kind.element_type)))
        else:
            return None
    return spread


def repeated(number: ir.Value, kind: ir.Type) -> ir.Value:
    """An array of this type, of known sizes, that holds one number everywhere."""
    axes = {"broadcast_dimensions": array_attribute("i64", [])}
    return create("stablehlo.broadcast_in_dim", [kind], [number], axes).result


def _fits(which: ir.Value, result: Any) -> bool:
    kind = ir.RankedTensorType(which.type)
    return kind.rank == 0 or kind.shape == result.shape


def _emitter(
    name: str, equation: Equation, kinds: Sequence[str | None]
) -> Callable[..., ir.Value] | None:
    """What emits an equation, from the result's type and the operands."""
    kind = kinds[0] or ""
    if name in _CONVERSIONS:
        return _operation("convert")
    if name == "select_n":
        return _select if kind == "flag" and len(kinds) == 3 else None
    if name == "square" and kind != "flag":
        return lambda _, number: _multiply(number, number)
    if name == "integer_pow" and kind == "float" and equation.params["y"] != 0:
        return lambda result, number: _power(result, number, equation.params["y"])
    same_types = len({aval.dtype for aval in equation.avals_in}) == 1  # `pow` takes integers, too
    if name in _POINTWISE[kind] and same_types:
        return _operation(_POINTWISE[kind][name])
    if name in _DIRECTIONS and kind != "flag" and same_types:
        order = "FLOAT" if kind == "float" else "SIGNED"
        return lambda _, left, right: compared(name, order, left, right)
    return None


def compared(direction: str, order: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """Flags; `direction`: `lt` and so on; `order`: FLOAT, SIGNED or UNSIGNED."""
    attributes = {
        "comparison_direction": ir.Attribute.parse(
            f"#stablehlo<comparison_direction {direction.upper()}>"
        ),
        "compare_type": ir.Attribute.parse(f"#stablehlo<comparison_type {order}>"),
    }
    flags = ir.RankedTensorType.get(ir.RankedTensorType(left.type).shape, integer_type(1))
    return create("stablehlo.compare", [flags], [left, right], attributes).result


def _operation(name: str) -> Callable[..., ir.Value]:
    return lambda result, *operands: create(f"stablehlo.{name}", [result], operands).result


def _select(result: ir.Type, which: ir.Value, if_false: ir.Value, if_true: ir.Value) -> ir.Value:
    return create("stablehlo.select", [result], [which, if_true, if_false]).result


_multiply = partial(binary, "stablehlo.multiply")


def _power(result: ir.Type, number: ir.Value, exponent: int) -> ir.Value:
    """The product of those of the number's repeated squares that make up the exponent."""
    squares = [number]
    while abs(exponent) >> len(squares):
        squares.append(_multiply(squares[-1], squares[-1]))
    factors = [square for bit, square in enumerate(squares) if abs(exponent) >> bit & 1]
    power = reduce(_multiply, factors)
    if exponent > 0:
        return power
    one = ir.FloatAttr.get(ir.RankedTensorType(result).element_type, 1.0)
    if ir.RankedTensorType(result).has_static_shape:
        splat = ir.DenseElementsAttr.get_splat(result, one)
        ones = create("stablehlo.constant", [result], [], {"value": splat}).result
    else:
        ones = create("chlo.constant_like", [result], [power], {"value": one}).result
    return create("stablehlo.divide", [result], [ones, power]).result


HALF_TYPES = ("float16", "bfloat16")

WIDENED = frozenset(
    """
    acos acosh add asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt cos cosh cumlogsumexp
    cumprod cumsum digamma div dot_general erf erf_inv erfc exp exp2 expm1 igamma igamma_grad_a
    igammac integer_pow lgamma log log1p logistic mul polygamma pow reduce_prod reduce_sum
    reduce_window_sum regularized_incomplete_beta rem rsqrt select_and_scatter_add sin
    sinh sqrt square sub tan tanh zeta conv_general_dilated
    """.split()
)
"""Primitives whose 16-bit floats are computed in 32 bits."""


@lowers("convert_element_type", lazy=True)
def lower_convert_element_type(
    context: LoweringContext, equation: Equation, value: Value
) -> Sequence[Value]:
    """Conversions of floats to integers; others are left to JAX's rule."""
    source, target = equation.avals_in[0].dtype, equation.avals_out[0].dtype
    if source == target:  # only the type's being weak differs
        return [value]
    to_integer = jnp.issubdtype(target, np.integer) and target != np.bool_
    if not to_integer or not is_floating(source):
        return NotImplemented
    kind = context.type_of(equation.avals_out[0])
    return [_converted(context.value(value), ir.RankedTensorType(kind).element_type)]


def has_half_floats(equation: Equation) -> bool:
    """Whether the equation is arithmetic on 16-bit floats, to be done in 32 bits."""
    avals = (*equation.avals_in, *equation.avals_out)
    return equation.primitive.name in WIDENED and any(map(_is_half, avals))


def lower_widened(
    context: LoweringContext, equation: Equation, operands: Sequence[ir.Value]
) -> list[ir.Value]:
    """The equation in 32 bits, its results rounded to 16."""
    parameters = dict(equation.params)
    if parameters.get("preferred_element_type") is not None:
        parameters["preferred_element_type"] = np.dtype(np.float32)
    wide = replace(
        equation,
        avals_in=tuple(map(_wide, equation.avals_in)),
        avals_out=tuple(map(_wide, equation.avals_out)),
        params=parameters,
    )
    inputs = [
        _converted(value, ir.F32Type.get()) if _is_half(aval) else value
        for value, aval in zip(operands, equation.avals_in, strict=True)
    ]
    results = [context.value(result) for result in context.lower_equation(wide, inputs)]
    return [
        _converted(result, context.element_type_of(aval)) if _is_half(aval) else result
        for result, aval in zip(results, equation.avals_out, strict=True)
    ]


def _is_half(aval: Any) -> bool:
    return _is_half_type(aval.dtype)


@cache
def _is_half_type(dtype: Any) -> bool:
    return np.dtype(dtype).name in HALF_TYPES


def _wide(aval: Any) -> Any:
    return aval.update(dtype=np.dtype(np.float32)) if _is_half(aval) else aval


def _converted(tensor: ir.Value, element: ir.Type) -> ir.Value:
    """The numbers as ones of another type."""
    kind = ir.RankedTensorType.get(tensor_type(tensor).shape, element)
    return create("stablehlo.convert", [kind], [tensor]).result
