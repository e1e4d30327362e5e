"""Elementwise primitives in whose place a JAX function is traced and lowered.

Those about the bits of numbers (bitcasts, the upper half of a product, reduced precision), and
functions of complex numbers that the pass which expands them gets wrong or imprecise: functions of
the real and the imaginary part, with JAX's branch cuts; real operands go JAX's way.
"""

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


def _log1p(number: jax.Array) -> tuple[jax.Array]:
    """By `|1 + z|**2 - 1 = x (x + 2) + y**2` where that is small and does not overflow."""
    x, y = lax.real(number), lax.imag(number)
    excess = x * (x + 2) + y * y
    near_one = 0.5 * lax.log1p(excess)
    size = jnp.where(lax.abs(excess) < 0.5, near_one, lax.log(lax.abs(number + 1)))
    return (lax.complex(size, lax.atan2(y, x + 1)),)


def _log(number: jax.Array) -> tuple[jax.Array]:
    """By the larger part and the quotient of the parts, so that no square leaves the range."""
    x, y = lax.real(number), lax.imag(number)
    larger, smaller = lax.max(lax.abs(x), lax.abs(y)), lax.min(lax.abs(x), lax.abs(y))
    excess = _excess(larger, smaller)
    quotient = jnp.where(larger == 0, 0, smaller / larger)
    scaled = lax.log(larger) + 0.5 * lax.log1p(quotient * quotient)
    size = jnp.where(lax.abs(excess) < 0.5, 0.5 * lax.log1p(excess), scaled)
    size = jnp.where(jnp.isinf(x) | jnp.isinf(y), jnp.inf, size)
    return (lax.complex(size, lax.atan2(y, x)),)


def _excess(larger: jax.Array, smaller: jax.Array) -> jax.Array:
    """`larger**2 + smaller**2 - 1` where that is small: the parts cancel, so with all their digits.

    Dekker, "A floating-point technique for extending the available precision" (1971).
    """
    (first, first_error), (second, second_error) = _square(larger), _square(smaller)
    first = first - 1  # exact near 1
    total = first + second
    # The larger of the two comes first where the sum is small and not exact.
    lost = jnp.where(
        lax.abs(first) > lax.abs(second), (first - total) + second, (second - total) + first
    )
    return total + (lost + (first_error + second_error))


def _square(number: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The rounded square, and the rounding error."""
    digits = jnp.finfo(number.dtype).nmant + 1
    scaled = number * (2.0 ** ((digits + 1) // 2) + 1)
    high = scaled - (scaled - number)
    low = number - high
    square = number * number
    return square, ((high * high - square) + 2 * high * low) + low * low


def _sqrt(number: jax.Array) -> tuple[jax.Array]:
    """An imaginary part of -0.0 counts as 0.0, so negative numbers have roots above the axis."""
    x, y = lax.real(number), lax.imag(number)
    larger = lax.sqrt(0.5 * lax.abs(x) + 0.5 * lax.abs(number))
    smaller = jnp.where(larger == 0, 0, lax.abs(y) / (2 * larger))
    real = jnp.where(x < 0, smaller, larger)
    size = jnp.where(x < 0, larger, smaller)
    imaginary = jnp.where(y < 0, -size, size)
    undefined = jnp.isnan(x) | jnp.isnan(y)
    infinite = jnp.isinf(y) & ~undefined
    real = jnp.where(infinite, jnp.inf, jnp.where(undefined, jnp.nan, real))
    imaginary = jnp.where(infinite, y, jnp.where(undefined, jnp.nan, imaginary))
    return (lax.complex(real, imaginary),)


_FUNCTIONS = {
    "log": _log,  # the pass loses all digits near a size of one
    "log1p": _log1p,  # and here half of the digits near zero
    "sqrt": _sqrt,  # the pass has C's branch cut, JAX has its own
}


@lowers(*_FUNCTIONS)
def lower_complex(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """A function of the table, where the operand is complex."""
    aval = equation.avals_in[0]
    if not is_complex(aval.dtype):
        return NotImplemented
    return context.lower_function(_FUNCTIONS[equation.primitive.name], [aval], [operand])
