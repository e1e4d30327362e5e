"""Elementwise arithmetic where JAX's rule and the passes after it fall short.

Conversion of floats to integers saturates in JAX (NaN gives 0), where LLVM's is undefined outside
the target's range. Arithmetic on 16-bit floats is done in 32 bits and rounded once, as XLA does it
on the CPU: libraries lack functions for them, and polynomials in 16 bits lose most digits.
All other elementwise operations are left to JAX's rules.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.array_types import element_name, is_complex, is_floating, is_unsigned
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.operations import (
    binary,
    compare_floats,
    compare_integers,
    create,
    scalar_constant,
    select,
    to_signless,
)
from diastase_mlir.lowering.registry import Equation, Value, lowers
from diastase_mlir.lowering.tensors import elementwise

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
    """Conversions that saturate or round in two steps; others are left to JAX's rule."""
    source, target = equation.avals_in[0].dtype, equation.avals_out[0].dtype
    if source == target:  # only the type's being weak differs
        return [value]
    operand = context.value(value)
    to_integer = jnp.issubdtype(target, np.integer) and target != np.bool_
    if to_integer and (is_floating(source) or is_complex(source)):
        element = context.element_type_of(equation.avals_out[0])
        unsigned = is_unsigned(target)
        operand = to_signless(operand)
        return [elementwise(element, lambda x: _saturated(_real(x), element, unsigned), operand)]
    if element_name(target) == "bfloat16" and jnp.issubdtype(source, np.integer):
        element = context.element_type_of(equation.avals_out[0])
        unsigned = is_unsigned(source)
        operand = to_signless(operand)
        return [elementwise(element, lambda x: _integer_as_bfloat16(x, unsigned), operand)]
    return NotImplemented


def _real(number: ir.Value) -> ir.Value:
    """The real part of a complex number; real ones unchanged, with at least 32 bits."""
    if isinstance(number.type, ir.ComplexType):
        return create("complex.re", [number.type.element_type], [number]).result
    if isinstance(number.type, (ir.F16Type, ir.BF16Type)):
        return create("arith.extf", [ir.F32Type.get()], [number]).result
    return number


def _saturated(number: ir.Value, element: ir.Type, unsigned: bool) -> ir.Value:
    """A float as an integer: towards zero, within the range of the type, 0 for NaN."""
    width = ir.IntegerType(element).width
    least, most = (0, 2**width - 1) if unsigned else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    name = "arith.fptoui" if unsigned else "arith.fptosi"
    converted = create(name, [element], [number]).result

    def bounded(predicate: str, limit: float, bound: int, otherwise: ir.Value) -> ir.Value:
        beyond = compare_floats(predicate, number, scalar_constant(number.type, limit))
        return select(beyond, scalar_constant(element, bound), otherwise)

    # `most` may not be a float, the next power of two always is.
    converted = bounded("oge", float(most + 1), most, converted)
    converted = bounded("ole", float(least), least, converted)
    is_nan = compare_floats("uno", number, number)
    return select(is_nan, scalar_constant(element, 0), converted)


def _integer_as_bfloat16(number: ir.Value, unsigned: bool) -> ir.Value:
    """The nearest bfloat16, by way of an f32 that holds the integer or decides as it would."""
    if ir.IntegerType(number.type).width > 24:
        number = _in_24_bits(number, unsigned)
    single, wanted = ir.F32Type.get(), ir.BF16Type.get()
    name = "arith.uitofp" if unsigned else "arith.sitofp"
    exact = create(name, [single], [number]).result
    return create("arith.truncf", [wanted], [exact]).result


def _in_24_bits(number: ir.Value, unsigned: bool) -> ir.Value:
    """Cut off what an f32 cannot hold; the last bit that is left tells whether anything was set."""
    kind, width = number.type, ir.IntegerType(number.type).width

    def constant(value: int) -> ir.Value:
        return scalar_constant(kind, value)

    sign = constant(0) if unsigned else binary("arith.shrsi", number, constant(width - 1))
    size = binary("arith.xori", number, sign)
    zeros = create("math.ctlz", [kind], [size]).result
    excess = binary("arith.subi", constant(width - 24), zeros)
    dropped = binary("arith.maxsi", excess, constant(0))
    last = binary("arith.shli", constant(1), dropped)
    below = binary("arith.subi", last, constant(1))
    lost = binary("arith.andi", number, below)
    is_exact = compare_integers("eq", lost, constant(0))
    kept = binary("arith.xori", number, lost)
    return select(is_exact, number, binary("arith.ori", kept, last))


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
        _widened(value) if _is_half(aval) else value
        for value, aval in zip(operands, equation.avals_in, strict=True)
    ]
    results = [context.value(result) for result in context.lower_equation(wide, inputs)]
    return [
        _narrowed(context, result, aval) if _is_half(aval) else result
        for result, aval in zip(results, equation.avals_out, strict=True)
    ]


def _is_half(aval: Any) -> bool:
    return _is_half_type(aval.dtype)


@cache
def _is_half_type(dtype: Any) -> bool:
    return np.dtype(dtype).name in HALF_TYPES


def _wide(aval: Any) -> Any:
    return aval.update(dtype=np.dtype(np.float32)) if _is_half(aval) else aval


def _widened(tensor: ir.Value) -> ir.Value:
    wide = ir.F32Type.get()
    return elementwise(wide, lambda x: create("arith.extf", [wide], [x]).result, tensor)


def _narrowed(context: LoweringContext, tensor: ir.Value, aval: Any) -> ir.Value:
    narrow = context.element_type_of(aval)
    return elementwise(narrow, lambda x: create("arith.truncf", [narrow], [x]).result, tensor)
