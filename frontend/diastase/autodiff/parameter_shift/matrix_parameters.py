"""Arrays of operations as points that rotations move: unitaries, diagonals, states.

A change dU of a unitary is i K U, and K is a sum of Pauli words: K = sum of w_P P. So an array has
one *angle* for each word P, the derivative by which is that by t in exp(i t P) U; its own change is

    w_P = Re(-i tr(P dU U^dagger)) / 2^wires           (`angles`, which have only derivatives)

For a diagonal only words of Z matter, for a state |s> we take K = -i |ds><s| + its adjoint. Words
are written x.z: P|r> = i^|x&z| (-1)^|r&z| |r^x>, with bits in the order of the wires.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

Kind = Literal["unitary", "diagonal", "prepare"]


@dataclass(frozen=True)
class Words:
    """The Pauli words that move an array on some wires; `whole`: also that of no letter."""

    kind: Kind
    wires: int
    whole: bool

    @cached_property
    def bits(self) -> list[tuple[int, int]]:
        """The bits x and z of each."""
        side = 2**self.wires
        flips = range(1 if self.kind == "diagonal" else side)
        every = [(x, z) for x in flips for z in range(side)]
        return every if self.whole else every[1:]

    @cached_property
    def sources(self) -> np.ndarray:
        """For each word P and row r of an array u: of which element (P u)[r] is a multiple."""
        rows = np.arange(2**self.wires)
        return np.stack([rows ^ x for x, _ in self.bits])

    @cached_property
    def factors(self) -> np.ndarray:
        """Which multiple."""
        found = [
            1j ** (x & z).bit_count()
            * np.array([(-1.0) ** ((r ^ x) & z).bit_count() for r in range(2**self.wires)])
            for x, z in self.bits
        ]
        return np.stack(found)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def angles(array: Any, words: Words) -> Any:
    """The angles of an array: zeros, with the derivatives of angles."""
    return jnp.zeros(len(words.bits))


@angles.defjvp
def _(words: Words, primals: Any, tangents: Any) -> Any:
    (array,), (change,) = primals, tangents
    sources, factors = jnp.asarray(words.sources), jnp.asarray(words.factors)
    if words.kind == "diagonal":
        found = factors @ (change * jnp.conj(array))
    else:
        product = (
            change @ jnp.conj(array).T
            if words.kind == "unitary"
            else (change[:, None] * jnp.conj(array)[None, :])
        )
        columns = jnp.arange(2**words.wires)
        found = jnp.sum(factors * product[sources, columns[None, :]], axis=1)
    scale = (2.0 if words.kind == "prepare" else 1.0) / 2**words.wires
    return angles(array, words), (jnp.imag(found) * scale).astype(jnp.float64)


def turned(array: Any, words: Words, amounts: Any) -> Any:
    """The array after exp(i t P) for each word, in order; `amounts`: the angles t."""
    if words.kind == "diagonal":
        phases = jnp.asarray(np.real(words.factors)).T @ amounts
        return (array * jnp.exp(1j * phases)).astype(array.dtype)

    def turn(old: Any, given: Any) -> tuple[Any, None]:
        amount, sources, factors = given
        moved = old[sources] * (factors[:, None] if words.kind == "unitary" else factors)
        return jnp.cos(amount) * old + 1j * jnp.sin(amount) * moved, None

    start = jnp.asarray(array, jnp.complex128)
    tables = jnp.asarray(words.sources), jnp.asarray(words.factors)
    return jax.lax.scan(turn, start, (amounts, *tables))[0].astype(array.dtype)
