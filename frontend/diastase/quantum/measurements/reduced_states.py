"""Density matrices of some wires, and what is computed from them.

The entropy of some wires of a pure state is that of the others, so it is taken of the smaller part
where wires and their number are known.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.primitives.matrix_functions import logarithm_of_positive
from diastase.primitives.measurement import density_matrix_p
from diastase.quantum.wires.wires import Position, WireMap, split_positions


def density_matrix(positions: Sequence[Position], register: Any) -> jax.Array:
    """The state of some wires, the others traced out."""
    known, operands = split_positions(positions)
    return density_matrix_p.bind(register, *operands, wires=known)


def purity(positions: Sequence[Position], wires: WireMap, register: Any) -> jax.Array:
    """The trace of the squared density matrix."""
    return purity_of(density_matrix(_smaller(positions, wires), register))


def purity_of(matrix: jax.Array) -> jax.Array:
    """The same of a density matrix."""
    return jnp.sum(matrix.real**2 + matrix.imag**2)


def entropy(
    positions: Sequence[Position], log_base: Any, wires: WireMap, register: Any
) -> jax.Array:
    """The entropy of some wires' state, in nats or in a base."""
    part = _smaller(positions, wires)
    if not part:
        return jnp.zeros(())
    return entropy_of(density_matrix(part, register), log_base)


def entropy_of(matrix: jax.Array, log_base: Any) -> jax.Array:
    """The same of a density matrix."""
    nats = _nats(matrix)
    return nats if log_base is None else nats / jnp.log(log_base)


@jax.custom_jvp
def _nats(matrix: jax.Array) -> jax.Array:
    weights = jnp.linalg.eigvalsh(matrix)
    positive = jnp.where(weights > 0, weights, 1.0)
    return -jnp.sum(positive * jnp.log(positive))


@_nats.defjvp
def _(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """By the matrix, not by its eigenvalues, which have no second derivatives where they meet."""
    (matrix,), (change,) = primals, tangents
    logarithm = logarithm_of_positive(matrix)
    moved = jnp.sum(logarithm.T * change) + jnp.trace(change)
    value = _nats(matrix)
    return value, -moved.real.astype(value.dtype)


def _smaller(positions: Sequence[Position], wires: WireMap) -> Sequence[Position]:
    """These wires or all others, whichever are fewer."""
    if wires.traced is not None or not all(isinstance(wire, int) for wire in positions):
        return positions
    others = [wire for wire in range(wires.number) if wire not in positions]
    return others if len(others) < len(positions) else positions
