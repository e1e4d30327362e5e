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
    x, y = _parts(number)
    excess = x * (x + 2) + y * y
    near_one = 0.5 * lax.log1p(excess)
    size = jnp.where((excess > -0.5) & (excess < 3), near_one, _log_of_size(x + 1, y))
    return (lax.complex(size, lax.atan2(y, x + 1)),)


def _log(number: jax.Array) -> tuple[jax.Array]:
    """By the larger part and the quotient of the parts, so that no square leaves the range."""
    x, y = _parts(number)
    excess = _excess(*_sizes(x, y))
    size = jnp.where(lax.abs(excess) < 0.5, 0.5 * lax.log1p(excess), _log_of_size(x, y))
    return (lax.complex(size, lax.atan2(y, x)),)


def _sizes(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The larger and the smaller of two numbers' sizes."""
    return lax.max(lax.abs(x), lax.abs(y)), lax.min(lax.abs(x), lax.abs(y))


def _log_of_size(x: jax.Array, y: jax.Array) -> jax.Array:
    """The logarithm of `|x + iy|`."""
    larger, smaller = _sizes(x, y)
    quotient = jnp.where(larger == 0, 0, smaller / larger)
    size = lax.log(larger) + 0.5 * lax.log1p(quotient * quotient)
    return jnp.where(jnp.isinf(x) | jnp.isinf(y), jnp.inf, size)


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
    x, y = _parts(number)
    # A quarter of the largest numbers, whose sizes would overflow.
    is_large = _sizes(x, y)[0] > 0.25 * float(jnp.finfo(x.dtype).max)
    x, y = (jnp.where(is_large, 0.25 * part, part) for part in (x, y))
    larger = lax.sqrt(0.5 * lax.abs(x) + 0.5 * lax.abs(lax.complex(x, y)))
    smaller = jnp.where(larger == 0, 0, lax.abs(y) / (2 * larger))
    real = jnp.where(x < 0, smaller, larger)
    size = jnp.where(x < 0, larger, smaller)
    imaginary = jnp.where(y < 0, -size, size)
    undefined = jnp.isnan(x) | jnp.isnan(y)
    infinite = jnp.isinf(y) & ~undefined
    real = jnp.where(infinite, jnp.inf, jnp.where(undefined, jnp.nan, real))
    imaginary = jnp.where(infinite, y, jnp.where(undefined, jnp.nan, imaginary))
    scale = jnp.where(is_large, 2, 1).astype(x.dtype)
    return (lax.complex(scale * real, scale * imaginary),)


def _parts(number: jax.Array) -> tuple[jax.Array, jax.Array]:
    return lax.real(number), lax.imag(number)


def _expm1(number: jax.Array) -> tuple[jax.Array]:
    """With `cos(y) - 1 = -2 sin(y/2)**2`, which keeps its digits near multiples of 2 pi."""
    x, y = _parts(number)
    sine, cosine, half_sine = lax.sin(y), lax.cos(y), lax.sin(0.5 * y)
    (grown_cosine, grown_sine), is_large = _grown(x, cosine, sine)
    real = jnp.where(is_large, grown_cosine, lax.expm1(x) * cosine - 2 * half_sine * half_sine)
    return (lax.complex(real, jnp.where(y == 0, y, grown_sine)),)


def _sinh(number: jax.Array) -> tuple[jax.Array]:
    """`sinh(x) cos(y) + i cosh(x) sin(y)`, so that both parts keep their digits near 0."""
    x, y = _parts(number)
    real, imaginary = _hyperbolic(x, lax.cos(y), lax.sin(y))
    return (lax.complex(jnp.where(x == 0, x, real), jnp.where(y == 0, y, imaginary)),)


def _cosh(number: jax.Array) -> tuple[jax.Array]:
    """`cosh(x) cos(y) + i sinh(x) sin(y)`."""
    x, y = _parts(number)
    imaginary, real = _hyperbolic(x, lax.sin(y), lax.cos(y))
    on_axis = jnp.where(x == 0, x * lax.sign(y), jnp.where(x < 0, -y, y))
    return (lax.complex(real, jnp.where((x == 0) | (y == 0), on_axis, imaginary)),)


def _hyperbolic(x: jax.Array, odd: jax.Array, even: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`sinh(x)` times one number and `cosh(x)` times another one."""
    size = lax.abs(x)
    grown, is_large = _grown(size, 0.5 * lax.sign(x) * odd, 0.5 * even)
    excess = lax.expm1(size)
    sinh = 0.5 * lax.sign(x) * (excess + excess / (excess + 1))
    cosh = 0.5 * (excess + 1 + 1 / (excess + 1))
    return jnp.where(is_large, grown[0], sinh * odd), jnp.where(is_large, grown[1], cosh * even)


def _grown(x: jax.Array, *factors: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """The exponential times each factor without overflow in between, and where that is at hand."""
    is_large = x > float(np.log(float(jnp.finfo(x.dtype).max))) - 2
    exponential = lax.exp(jnp.where(is_large, 0.5 * x, x))
    again = jnp.where(is_large, exponential, 1)
    return [exponential * factor * again for factor in factors], is_large


_FUNCTIONS = {
    "cosh": _cosh,  # the pass loses digits near its zeros
    "expm1": _expm1,  # near multiples of 2 pi i
    "sinh": _sinh,  # and here all digits near zero
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
