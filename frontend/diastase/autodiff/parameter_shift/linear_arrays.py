"""Arrays in which all that is measured is linear: transfer matrices, and density matrices put in.

Such an array a is one real vector of coordinates c, those of Pauli words, and f = f0 + sum of
c_k f_k. So the derivative by c_k needs no small shift: it is f_k, from two runs in which the whole
array is replaced,

    f_k = (f(m + e_k) - f(m - e_k)) / 2

with m the completely depolarizing channel, or the completely mixed state. Both sides are a channel,
or a state: P_a x P_b has the eigenvalues 1 and -1. So runs with shots can do it, at any strength,
and what is found is exact without them. There are 12 coordinates of a channel on one wire.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from diastase.autodiff.parameter_shift.shift_rules import Rule
from diastase.quantum.noise.transfer import pauli_words

Values = Sequence[Any]
Word = tuple[int, ...]
_RULE = Rule(((0.5, 1.0), (-0.5, -1.0)))
MOST_WIRES = {"superoperator": 2, "replace": 3}
"""16^wires runs, twice; 4^wires."""


@dataclass(frozen=True)
class LinearParameters:
    """The coordinates of such an array."""

    kind: Literal["superoperator", "replace"]
    wires: int
    tests: tuple[Word, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Of each coordinate; those of the identity, which the trace fixes, are left out."""
        size = 4**self.wires
        return (_RULE,) * ((size - 1) * (size if self.kind == "superoperator" else 1))

    def values(self, operands: Values) -> Values:
        """The coordinates."""
        array = operands[0]
        if self.kind == "superoperator":
            found = array[1:].reshape(-1)
        else:
            found = jnp.real(jnp.einsum("pab,ba->p", pauli_words(self.wires)[1:], array))
        return [found[number] for number in range(len(self.rules))]

    def shifted(self, operands: Values, shifts: Values) -> Values:
        """The array, or in its own runs the one that stands for a coordinate."""
        array, *others = operands
        amounts = jnp.stack(list(shifts))
        if self.kind == "superoperator":
            middle = np.zeros((4**self.wires, 4**self.wires))
            middle[0, 0] = 1
            moved = middle + jnp.pad(amounts.reshape(-1, 4**self.wires), ((1, 0), (0, 0)))
        else:
            words = pauli_words(self.wires)
            moved = (words[0] + jnp.einsum("p,pab->ab", amounts, words[1:])) / 2**self.wires
        return [jnp.where(jnp.any(amounts != 0), moved.astype(array.dtype), array), *others]
