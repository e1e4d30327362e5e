"""Functions of complex numbers that the pass which expands them gets wrong or imprecise.

Each is a JAX function of the real and the imaginary part, lowered in the place of the primitive;
real operands go JAX's way. Branch cuts are JAX's.
"""

import jax
import jax.numpy as jnp
from jax import lax

from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_complex
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers


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
