"""What was drawn, as the measurements look at it.

`Shots` hold, for each group, the `Packed` outcomes, and the values and constants that were asked
for. All of it is classical: an array has one element (or row) for each shot, or for the one shot of
a run.

The trap: places are those of wires in their group, and the first one is the most significant bit.
The bit `SIGN` is none of them. In a Hadamard test it says whether a shot counts with -1, in all
averages; only a `signed` group asks for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

SIGN = 1 << 62


@dataclass(frozen=True)
class Outcomes:
    """The outcomes on some wires of a group: what a measurement asked for."""

    group: int
    places: tuple[int, ...]
    """Of the wires among those of the group."""
    whole: bool = False
    """Whether these are all wires of a traced number of them; `places` is empty then."""


@dataclass(frozen=True)
class Constant:
    """An array known now, or the number of a traced one among the constants."""

    value: Any
    number: int = -1


@dataclass(frozen=True)
class Packed:
    """Outcomes of a group: one integer a shot."""

    outcomes: Any
    count: int
    """Number of wires."""
    whole: Any = None
    """The number of wires, of a group of all wires, where it is traced."""
    signed: bool = False

    def mean(self, values: Any) -> Any:
        """The average of a value of each shot."""
        return jnp.mean(values * _signs(self.outcomes, SIGN) if self.signed else values)

    def frequencies(self, index: Any, length: Any) -> Any:
        """How often each number from 0 to below `length` was found, of all shots."""
        weights = _signs(self.outcomes, SIGN) if self.signed else None
        return jnp.bincount(index, weights, length=length) / self.outcomes.shape[0]

    def index(self, places: Sequence[int]) -> Any:
        """One integer a shot, of the bits at these places only, in this order."""
        parts = [
            _shifted(self.outcomes >> (self.count - end), end - start, len(places) - at)
            for start, end, at in _runs(places)
        ]
        total = parts[0] if parts else jnp.zeros_like(self.outcomes)
        for part in parts[1:]:
            total = total | part
        return total

    def unsigned(self) -> Any:
        """One integer a shot, of the bits of all wires."""
        return self.outcomes & ~SIGN if self.signed else self.outcomes

    def bits_of_all(self) -> Any:
        """A row of the bits of all wires, of a traced number, for each shot."""
        shifts = self.whole - 1 - jnp.arange(self.whole)
        return (self.outcomes[:, None] >> shifts[None, :]) & 1

    def bits(self, places: Sequence[int]) -> Any:
        """A row of bits for each shot."""
        shifts = np.array([self.count - 1 - place for place in places], dtype=np.int64)
        return (self.outcomes[:, None] >> shifts[None, :]) & 1

    def parity(self, places: Sequence[int]) -> Any:
        """For each shot, whether an odd number of these bits is set: 1 or 0."""
        (mask,) = self._masks([places])
        return _parity(self.outcomes, mask)

    def mean_signs(self, words: Sequence[Sequence[int]]) -> Any:
        """The mean of the eigenvalue, 1 or -1, of each Pauli word."""
        masks = self._masks(words) | (SIGN if self.signed else 0)
        if len(masks) == 1:
            return jnp.mean(_signs(self.outcomes, masks[0]))[None]
        return jax.lax.map(lambda mask: jnp.mean(_signs(self.outcomes, mask)), jnp.asarray(masks))

    def sum_of_signs(self, coefficients: Any, words: Sequence[Sequence[int]]) -> Any:
        """For each shot, the eigenvalues of Pauli words, summed with coefficients."""
        masks = self._masks(words)
        if len(masks) == 1:
            return coefficients[0] * _signs(self.outcomes, masks[0])

        def add(total: Any, term: Any) -> tuple[Any, None]:
            coefficient, mask = term
            return total + coefficient * _signs(self.outcomes, mask), None

        start = jnp.zeros(self.outcomes.shape, jnp.float64)
        terms = jnp.asarray(coefficients), jnp.asarray(masks)
        return jax.lax.scan(add, start, terms)[0]

    def _masks(self, words: Sequence[Sequence[int]]) -> np.ndarray:
        """For each word, the bits of its places."""
        masks = [sum(1 << (self.count - 1 - place) for place in places) for places in words]
        return np.array(masks, dtype=np.int64)


def _signs(outcomes: Any, mask: Any) -> Any:
    """1.0 or -1.0: whether an even number of these bits is set."""
    return 1.0 - 2.0 * _parity(outcomes, mask).astype(jnp.float64)


def _parity(outcomes: Any, mask: Any) -> Any:
    return jnp.bitwise_count(outcomes & mask).astype(jnp.int64) & 1


def _runs(places: Sequence[int]) -> list[tuple[int, int, int]]:
    """Places that follow each other, as `(first, last + 1, end among the places)`."""
    runs: list[tuple[int, int, int]] = []
    for at, place in enumerate(places):
        if runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1, at + 1)
        else:
            runs.append((place, place + 1, at + 1))
    return runs


def _shifted(outcomes: Any, width: int, shift: int) -> Any:
    """The lowest `width` bits, moved up."""
    kept = outcomes & np.int64((1 << width) - 1)
    return kept << np.int64(shift) if shift else kept


@dataclass(frozen=True)
class Shots:
    """What was drawn; every array has one element (or row) for each shot."""

    packed: list[Packed]
    values: list[Any]
    constants: list[Any]
    """The same for all shots."""

    @property
    def number(self) -> Any:
        """How many shots there are."""
        arrays = [*(packed.outcomes for packed in self.packed), *self.values]
        return arrays[0].shape[0]

    def only(self, choose: Callable[[Any], Any]) -> "Shots":
        """Some of the shots: `choose` is applied to every array."""
        packed = [replace(each, outcomes=choose(each.outcomes)) for each in self.packed]
        return Shots(packed, [choose(value) for value in self.values], self.constants)

    def constant(self, constant: Constant) -> Any:
        """The array that a constant is."""
        return constant.value if constant.number < 0 else self.constants[constant.number]

    def index(self, outcomes: Outcomes) -> Any:
        """One integer a shot."""
        group = self.packed[outcomes.group]
        return group.unsigned() if outcomes.whole else group.index(outcomes.places)

    def count(self, outcomes: Outcomes) -> Any:
        """How many wires there are, where the number is traced."""
        return self.packed[outcomes.group].whole

    def bits(self, outcomes: Outcomes) -> Any:
        """A row of bits for each shot."""
        group = self.packed[outcomes.group]
        return group.bits_of_all() if outcomes.whole else group.bits(outcomes.places)
