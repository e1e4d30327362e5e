"""Rules about the bits of numbers: bitcasts, the upper half of a product, reduced precision."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.emit.operations import create
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_complex
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers


@lowers("bitcast_convert_type")
def lower_bitcast_convert_type(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """The same bits as numbers of another type; another width adds or takes the last axis."""
    (source,), (result,) = equation.avals_in, equation.avals_out
    kind = context.type_of(result)
    if operand.type == kind:
        return [operand]
    if any(is_complex(aval.dtype) or aval.dtype == np.bool_ for aval in (source, result)):
        return NotImplemented
    return [create("stablehlo.bitcast_convert", [kind], [operand]).result]


@lowers("mulhi")
def lower_mulhi(
    context: LoweringContext, equation: Equation, left: ir.Value, right: ir.Value
) -> list[ir.Value]:
    """The upper half of the product of two integers."""
    return context.lower_function(_upper_half, equation.avals_in, [left, right])


def _upper_half(x: jax.Array, y: jax.Array) -> tuple[jax.Array]:
    """By a product of twice the width, or by products of halves."""
    width, is_signed = jnp.iinfo(x.dtype).bits, jnp.issubdtype(x.dtype, jnp.signedinteger)
    if width < 64:
        wide = np.dtype(f"{'int' if is_signed else 'uint'}{2 * width}")
        product = x.astype(wide) * y.astype(wide)
        return ((product >> wide.type(width)).astype(x.dtype),)
    word, half = np.uint64, np.uint64(32)
    (x_low, x_high), (y_low, y_high) = (
        (number & word(_mask(32)), number >> half) for number in (x.astype(word), y.astype(word))
    )
    first, second = x_low * y_high, x_high * y_low
    carried = (x_low * y_low >> half) + (first & word(_mask(32))) + (second & word(_mask(32)))
    upper = x_high * y_high + (first >> half) + (second >> half) + (carried >> half)
    upper = upper.astype(x.dtype)
    if is_signed:  # a negative number counts 2**64 too much
        upper = upper - jnp.where(x < 0, y, 0) - jnp.where(y < 0, x, 0)
    return (upper,)


@lowers("reduce_precision")
def lower_reduce_precision(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """Numbers rounded to fewer bits; StableHLO's operation would abort the passes."""
    exponent, mantissa = (equation.params[f"{part}_bits"] for part in ("exponent", "mantissa"))

    def reduce(number: jax.Array) -> tuple[jax.Array]:
        return (_reduced(number, exponent, mantissa),)

    return context.lower_function(reduce, equation.avals_in, [operand])


def _reduced(number: jax.Array, exponent_bits: int, mantissa_bits: int) -> jax.Array:
    """To the nearest, ties to even; too large becomes infinite, too small a zero; NaN stays."""
    limits = jnp.finfo(number.dtype)
    word = np.dtype(f"uint{limits.bits}").type
    bits = lax.bitcast_convert_type(number, word)
    dropped = limits.nmant - mantissa_bits
    if dropped > 0:
        last_kept = (bits >> word(dropped)) & word(1)
        half = word((1 << (dropped - 1)) - 1)
        bits = (bits + half + last_kept) & word(_mask(limits.bits) ^ _mask(dropped))
    if exponent_bits < limits.nexp:
        field = word(_mask(limits.nexp) << limits.nmant)
        bias, new_bias = _mask(limits.nexp - 1), _mask(exponent_bits - 1)
        exponent, sign = bits & field, bits & word(1 << (limits.bits - 1))
        bits = jnp.where(exponent > word((bias + new_bias) << limits.nmant), sign | field, bits)
        bits = jnp.where(exponent <= word((bias - new_bias) << limits.nmant), sign, bits)
    rounded = lax.bitcast_convert_type(bits, number.dtype)
    undefined = number if mantissa_bits > 0 else jnp.full_like(number, jnp.inf)
    return jnp.where(jnp.isnan(number), undefined, rounded)


def _mask(bits: int) -> int:
    return (1 << bits) - 1
