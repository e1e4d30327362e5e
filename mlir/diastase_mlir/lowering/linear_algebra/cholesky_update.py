"""Rule for the update of a Cholesky decomposition by a vector."""

from typing import Any

import jax
import jax.numpy as jnp

from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers


@lowers("cholesky_update")
def lower_cholesky_update(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """A loop over rows; JAX's rule unrolls it, for which the size must be known."""
    return context.lower_function(_updated, equation.avals_in, operands)


def _updated(factor: Any, vector: Any) -> tuple[Any]:
    """The upper factor of `factor.T @ factor + outer(vector, vector)`, by Givens rotations."""

    def rotate(row: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        factor, vector = state
        x, y = factor[row, row], vector[row]
        scale = jnp.where(abs(x) > abs(y), abs(x), abs(y))
        x, y = x / scale, y / scale
        length = 1 / jax.lax.sqrt(x**2 + y**2)
        is_zero = vector[row] == 0
        cosine = jnp.where(is_zero, 1, x * length)
        sine = jnp.where(is_zero, 0, -y * length)
        first = factor[row, :]
        rotated = cosine * first - sine * vector
        return factor.at[row, :].set(rotated), cosine * vector + sine * first

    return (jax.lax.fori_loop(0, vector.shape[0], rotate, (factor, vector))[0],)
