"""Generators G of gates U(p) = exp(i p G): as matrices, and as sums of Pauli words.

Under controls the generator is G times the projector on their values, a product of (1 + Z)/2 and
(1 - Z)/2; so a word has one letter for each wire, targets and then controls.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase.capture.pennylane_compat import making_operators
from diastase.quantum.noise.transfer import pauli_words
from diastase_mlir import GATES, word_of

Word = tuple[int, ...]
"""For each wire a letter, by its place in `LETTERS`."""
LETTERS = "IXYZ"
_ROUNDING = 1e-12

HAVE_GENERATORS = frozenset(
    name for name, gate in GATES.items() if gate.parameters == 1 and name != "PSWAP"
)
"""Gates U(p) = exp(i p G): the derivative, i G U, is the gate and then a matrix without angles."""


def has_generator(name: str) -> bool:
    """Whether a gate is one of these; rotations about Pauli words are."""
    return name in HAVE_GENERATORS or word_of(name) is not None


def word_rotated_about(name: str, wires: int) -> str | None:
    """P of a gate exp(-i p/2 P), a Pauli word on any number of wires."""
    return "Z" * wires if name == "MultiRZ" else word_of(name)


@cache
def generator(name: str, wires: int) -> np.ndarray:
    """G of a gate exp(i p G), by PennyLane."""
    with making_operators():
        gate = getattr(qml, name)(0.0, wires=range(wires))
        return np.asarray(qml.matrix(gate.generator(), wire_order=range(wires)))


def gate_matrix(name: str, parameters: Sequence[Any]) -> Any:
    """The matrix of a gate by PennyLane, of one that is no rotation about a word."""
    with making_operators():
        return jnp.asarray(getattr(qml, name).compute_matrix(*parameters), jnp.complex128)


@cache
def words_of_generator(
    name: str, wires: int, controls: tuple[bool, ...]
) -> list[tuple[float, Word]]:
    """The Pauli words of a gate's generator under controls, with coefficients, but for a number."""
    word = word_rotated_about(name, wires)
    if word is not None:
        return under_controls([(-0.5, tuple(map(LETTERS.index, word)))], controls)
    matrix = generator(name, wires)
    found = np.real(np.einsum("pab,ba->p", pauli_words(wires), matrix)) / 2**wires
    shape = (len(LETTERS),) * wires
    terms = [
        (float(found[place]), tuple(int(letter) for letter in np.unravel_index(place, shape)))
        for place in np.flatnonzero(abs(found) > _ROUNDING)
    ]
    return under_controls(terms, controls)


def under_controls(
    terms: Sequence[tuple[float, Word]], controls: Sequence[bool]
) -> list[tuple[float, Word]]:
    """A sum of words times the projector on the values of some controls, but for a number."""
    return [
        (coefficient * factor, (*word, *more))
        for coefficient, word in terms
        for factor, more in _projector(controls)
        if any(word) or any(more)
    ]


def _projector(controls: Sequence[bool]) -> Iterator[tuple[float, Word]]:
    for letters in product((0, 3), repeat=len(controls)):
        signs = [
            -1.0 if letter and value else 1.0
            for letter, value in zip(letters, controls, strict=True)
        ]
        yield float(np.prod(signs)) / 2 ** len(controls), letters
