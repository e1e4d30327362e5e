"""`Counts`: what `qml.counts` gives inside of a compiled function; `CountsDict`: what comes out.

`Counts` is a pytree of two vectors, outcomes (as numbers) and how often each was found; an outcome
may stand there more than once. `counts["01"]` or `counts[-1.0]` is a traced number. Where a
compiled function returns it, the api makes of it PennyLane's dictionary from bit strings (or
values) to numbers, or Catalyst's pair of arrays, all outcomes and how often each was found. The
dictionary gives that pair, too: two names get it that the dictionary is unpacked into, and the keys
0 and 1, which are no bit strings, find it (decision 0050).

The traps: the number of different outcomes is not known while tracing, so inside of a compiled
function there are no keys to go through: what is unpacked, or indexed by 0 or 1, is Catalyst's
pair. And unpacking asks for an iterator, like a `for` over the keys; which of the two it is stands
in the bytecode of whoever asks. `f(*counts)` may mean either and is refused; but a function in C
has no bytecode, so in `f(*arguments)` it may be `f` that asks, for the keys.
"""

import dis
import gc
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.capture.quantum_errors import StarredCountsError
from diastase_mlir import user_span
from diastase_runtime.arrays.counts import Found

_UNPACK, _STARRED_CALL = dis.opmap["UNPACK_SEQUENCE"], dis.opmap["CALL_FUNCTION_EX"]


class CountsDict(dict[Any, Any]):
    """PennyLane's dictionary of counts, which unpacks into Catalyst's pair of arrays."""

    def __iter__(self) -> Iterator[Any]:
        """The keys; the pair for `outcomes, numbers = counts`."""
        operation, number = _operation(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        if operation == _UNPACK and number == 2:
            return iter(self.to_arrays())
        if operation == _STARRED_CALL and not self._is_an_argument():
            raise StarredCountsError(keys=f"the keys {list(self.keys())}", span=user_span())
        return super().__iter__()

    def __missing__(self, key: Any) -> Any:
        """Of bit strings, one of the pair: `circuit()[0]`, `circuit()[1]`."""
        if self._width() is None or not is_place(key):
            raise KeyError(key)
        return self.to_arrays()[key]

    def to_arrays(self) -> tuple[Any, Any]:
        """Catalyst's pair: all outcomes (bit strings as integers), and how often each was found."""
        keys, numbers = list(self.keys()), np.array(list(self.values()), np.int64)
        width = self._width()
        if width is None:
            return jnp.asarray(keys), jnp.asarray(numbers)
        found = [int(key or "0", 2) for key in keys]
        counted = np.bincount(found, numbers, 2**width).astype(np.int64)
        return jnp.arange(2**width), jnp.asarray(counted)

    def _is_an_argument(self) -> bool:
        """Whether a function may iterate that is given the counts themselves: `sorted(*[counts])`.

        Then they stand in the tuple of its arguments. Where a tuple or list of the user's holds
        them, that cannot be told apart.
        """
        return any(type(holder) in (tuple, list) for holder in gc.get_referrers(self))

    def _width(self) -> int | None:
        """The length of the bit strings; None where outcomes are values."""
        first = next(iter(self.keys()), None)
        return len(first) if isinstance(first, str) else None


def is_place(key: Any) -> bool:
    """Whether a key is a place in Catalyst's pair."""
    return type(key) is int and key in (0, 1)


def _operation(frame: FrameType) -> tuple[int, int]:
    """The instruction that a frame is at: its code, and its argument."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at], code[at + 1]


jax.tree_util.register_pytree_node(
    CountsDict,
    lambda counts: (list(counts.values()), tuple(counts.keys())),
    lambda keys, numbers: CountsDict(zip(keys, numbers, strict=True)),
)


LARGEST_HISTOGRAM = 16
"""Wires up to which all outcomes are counted; with more, the shots themselves are kept."""


@dataclass(frozen=True)
class Counts:
    """How often each outcome was found."""

    outcomes: Any
    """Eigenvalues or values, or bit strings read as binary numbers."""
    numbers: Any
    width: int | None = None
    """The length of the bit strings, None where outcomes are values."""
    all_outcomes: bool = False
    """Whether the dictionary also has those that were never found."""
    traced_width: Any = None
    """The length of the bit strings, where only the program knows it."""

    def __getitem__(self, outcome: Any, /) -> Any:
        """How often one outcome was found, a bit string such as "01" or a value."""
        if self._is_of_bits and is_place(outcome):
            return self._pair()[outcome]
        found: Any = self.outcomes == outcome
        if self.width is not None:
            found = self.outcomes == _read(outcome, self.width)
        elif self.traced_width is not None:
            width = len(outcome)
            found = (self.traced_width == width) & (self.outcomes == _read(outcome, width))
        return jnp.sum(jnp.where(found, self.numbers, 0))

    def __iter__(self) -> Iterator[Any]:
        """Catalyst's pair: `outcomes, numbers = circuit()`."""
        return iter(self._pair())

    @property
    def _is_of_bits(self) -> bool:
        return self.width is not None or self.traced_width is not None

    def _pair(self) -> tuple[Any, Any]:
        """Each outcome once, ascending, and how often it was found; traced."""
        if not self._is_of_bits or jnp.ndim(self.numbers) > 1:
            return self.outcomes, self.numbers
        length = 2 ** (self.traced_width if self.width is None else self.width)
        return jnp.arange(length), jnp.bincount(self.outcomes, self.numbers, length=length)

    def to_dict(self) -> "CountsDict | list[Any]":
        """PennyLane's dictionary, by ascending outcomes; of a batch, a list of them."""
        return _with_pairs(self._found().to_dict())

    def to_arrays(self) -> tuple[Any, Any]:
        """Catalyst's pair: all outcomes (bit strings as integers), and how often each was found."""
        outcomes, numbers = self._found().to_arrays()
        return jnp.asarray(outcomes), jnp.asarray(numbers)

    def _found(self) -> Found:
        outcomes, numbers = np.asarray(self.outcomes), np.asarray(self.numbers)
        width = None if self.traced_width is None else np.asarray(self.traced_width)
        return Found(outcomes, numbers, self.width, self.all_outcomes, width)


def _with_pairs(counts: Any) -> Any:
    """Dictionaries that unpack into Catalyst's pair, in the place of plain ones."""
    return list(map(_with_pairs, counts)) if isinstance(counts, list) else CountsDict(counts)


jax.tree_util.register_dataclass(
    Counts,
    data_fields=["outcomes", "numbers", "traced_width"],
    meta_fields=["width", "all_outcomes"],
)


def _read(outcome: Any, width: int) -> int:
    """A bit string as a number; KeyError if it is none of this length."""
    if not isinstance(outcome, str) or len(outcome) != width or set(outcome) - {"0", "1"}:
        raise KeyError(f"counts of {width} bits have no key {outcome!r}")
    return int(outcome, 2) if outcome else 0


def counted_bits(index: Any, width: int, all_outcomes: bool) -> Counts:
    """Count packed outcomes."""
    if width > LARGEST_HISTOGRAM:
        return Counts(index, jnp.ones_like(index), width, all_outcomes)
    outcomes = jnp.arange(2**width, dtype=jnp.int64)
    return Counts(outcomes, histogram(index, 2**width), width, all_outcomes)


def counted_wires(index: Any, width: Any, all_outcomes: bool) -> Counts:
    """Count packed outcomes on a number of wires that only the program knows."""
    ones = jnp.ones_like(index)
    return Counts(index, ones, None, all_outcomes, jnp.asarray(width, jnp.int64))


def histogram(index: Any, length: Any) -> Any:
    """How often each outcome from 0 to below `length` was found."""
    return jnp.bincount(index, length=length)


def is_counts(value: Any) -> bool:
    """Whether a value is one of these; for pytree functions."""
    return isinstance(value, Counts)
