"""What `qml.counts` gives, from the arrays that programs return: a dictionary, or two arrays.

A program returns outcomes (as numbers) and how often each was found; an outcome may stand there
more than once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

CountsForm = Literal["dict", "arrays"]
"""PennyLane's dictionary, or Catalyst's pair of arrays."""


@dataclass(frozen=True)
class Found:
    """How often each outcome was found."""

    outcomes: Any
    """Values, or bit strings read as binary numbers."""
    numbers: Any
    width: int | None
    """The length of the bit strings, None where outcomes are values."""
    all_outcomes: bool
    """Whether the dictionary also has those that were never found."""
    traced_width: Any = None
    """The length of the bit strings, where only the program knows it."""

    def to_dict(self) -> dict[Any, int] | list[Any]:
        """PennyLane's dictionary, by ascending outcomes; of a batch, a list of them."""
        outcomes, numbers = np.asarray(self.outcomes), np.asarray(self.numbers)
        if numbers.ndim > 1:
            return [each.to_dict() for each in self._elements()]
        if self.traced_width is not None:
            return self._of_known_width().to_dict()
        found, totals = _totals(outcomes, numbers)
        if not self.all_outcomes:
            found, totals = found[totals != 0], totals[totals != 0]
        elif self.width is not None:
            totals = np.bincount(found, totals, 2**self.width).astype(np.int64)
            found = np.arange(2**self.width)
        keys = found.tolist() if self.width is None else _bit_strings(found, self.width)
        return dict(zip(keys, totals.tolist(), strict=True))

    def to_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Catalyst's pair: all outcomes (bit strings as integers), and how often each was found."""
        outcomes, numbers = np.asarray(self.outcomes), np.asarray(self.numbers)
        if numbers.ndim > 1:
            pairs = [each.to_arrays() for each in self._elements()]
            return np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])
        if self.traced_width is not None:
            return self._of_known_width().to_arrays()
        if self.width is not None:
            outcomes_found, outcomes = outcomes, np.arange(2**self.width)
            numbers = np.bincount(outcomes_found, numbers, len(outcomes)).astype(np.int64)
        return outcomes, numbers

    def _elements(self) -> Iterator["Found"]:
        """The counts of each element of a batch."""
        for position, (outcomes, numbers) in enumerate(
            zip(self.outcomes, self.numbers, strict=True)
        ):
            width = None if self.traced_width is None else self.traced_width[position]
            yield replace(self, outcomes=outcomes, numbers=numbers, traced_width=width)

    def _of_known_width(self) -> "Found":
        return replace(self, width=int(self.traced_width), traced_width=None)


def _totals(outcomes: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each outcome once, ascending, and how often it was found in all."""
    if np.all(numbers == 1):  # shots, which need only be sorted
        return np.unique(outcomes, return_counts=True)
    found, positions = np.unique(outcomes, return_inverse=True)
    totals = np.zeros(len(found), dtype=np.int64)
    np.add.at(totals, positions.reshape(-1), numbers)
    return found, totals


def _bit_strings(numbers: np.ndarray, width: int) -> list[str]:
    """Numbers as binary ones of `width` digits."""
    if width == 0:
        return [""] * len(numbers)
    octets = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    digits = np.unpackbits(octets, axis=1)[:, 64 - width :]
    characters = digits.astype(np.uint32) + np.uint32(ord("0"))  # as NumPy's texts have them
    return characters.view(f"U{width}").ravel().tolist()
