"""Pauli words: the angles of matrices and states, and the generators that Hadamard tests control.

A change dU of a unitary is i K U, and K is a sum of Pauli words: K = sum of w_P P. So an array has
one *angle* for each word P, the derivative by which is that by t in exp(i t P) U; its own change is

    w_P = Re(-i tr(P dU U^dagger)) / 2^wires           (`angles`, which have only derivatives)

For a diagonal only words of Z matter, for a state |s> we take K = -i |ds><s| + its adjoint. Words
are written x.z: P|r> = i^|x&z| (-1)^|r&z| |r^x>, with bits in the order of the wires.

For U(p) = exp(i p G), G = sum of c P, the derivative of an average <O> is the sum of -2 c <Y x O>
after the Hadamard test of P (`runs`). A generator under controls is that times a projector, which
is a product of (1 + Z)/2 and (1 - Z)/2; a word is one letter for each wire, targets and controls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from diastase.autodiff.parameter_shift.shift_rules import Rule
from diastase.autodiff.tangents.generators import (
    LETTERS,
    Word,
    under_controls,
    words_of_generator,
)

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


@cache
def tests_of_gate(
    name: str, wires: int, controls: tuple[bool, ...]
) -> tuple[Rule, tuple[Word, ...]]:
    """The rule of a gate with a generator, and the words of its runs."""
    return _tests(words_of_generator(name, wires, controls))


@cache
def tests_of_angles(
    words: Words, controls: tuple[bool, ...]
) -> tuple[tuple[Rule, ...], tuple[Word, ...]]:
    """The rules of an array's angles, and the words of their runs."""
    found = [
        _tests(under_controls([(1.0, _letters(bits, words.wires))], controls))
        for bits in words.bits
    ]
    return tuple(rule for rule, _ in found), tuple(word for _, tests in found for word in tests)


def _tests(terms: Sequence[tuple[float, Word]]) -> tuple[Rule, tuple[Word, ...]]:
    rule = Rule(tuple((-2 * coefficient, 0.0) for coefficient, _ in terms))
    return rule, tuple(word for _, word in terms)


def _letters(bits: tuple[int, int], wires: int) -> Word:
    flips, signs = bits
    found = list[int]()
    for place in reversed(range(wires)):
        flip, sign = flips >> place & 1, signs >> place & 1
        found.append(LETTERS.index("IXZY"[flip + 2 * sign]))
    return tuple(found)
