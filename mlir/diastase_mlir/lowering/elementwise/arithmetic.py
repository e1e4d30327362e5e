"""Elementwise arithmetic where JAX's rule and the passes after it fall short.

Conversion of floats to integers is StableHLO's, which saturates (`emit.conversions`). Arithmetic on
16-bit floats is done in 32 bits and rounded once, as XLA does it on the CPU: libraries lack
functions for them, and polynomials in 16 bits lose most digits.
All other elementwise operations are left to JAX's rules.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase_mlir.emit.operations import create
from diastase_mlir.emit.tensors import tensor_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_floating
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers

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
