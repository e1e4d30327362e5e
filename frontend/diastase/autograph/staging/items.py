"""What a `for` loop goes through, as a program can: by position.

`range`, `enumerate`, `zip` and `reversed` of converted functions give objects that are Python's
iterables and know their items by position, too. Arrays are gone through along their first axis, and
so are lists and tuples whose elements are alike: numbers and arrays become one array, elements
with parts of different kinds (`(0, 0.5)`) an array for each part.
"""

import builtins
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.autograph.staging.variables import Split, is_array, is_traced
from diastase.capture.tracer_errors import TracedIndexError
from diastase_mlir.diagnostics import user_span


@dataclass(frozen=True)
class Items:
    """Items by position, from 0 to the length."""

    known_length: int | None
    """None if it is traced."""
    at: Callable[[Any], Any]
    traced_length: Callable[[], Any] | None = None
    given_bounds: tuple[Any, Any, Any] | None = None
    """Of a `range`: then the items are the indices of the loop."""

    @property
    def length(self) -> Any:
        """How many there are."""
        return self.traced_length() if self.traced_length is not None else self.known_length

    @property
    def bounds(self) -> tuple[Any, Any, Any]:
        """Bounds and step of the loop."""
        return self.given_bounds or (0, self.length, 1)

    def mapped(self, at: Callable[[Any], Any]) -> "Items":
        """As many items, but others."""
        return Items(self.known_length, at, self.traced_length)

    def item(self, index: Any) -> Any:
        """The item for an index of the loop with these bounds."""
        return self.at(index) if self.given_bounds is None else index


def items_of(iterable: Any) -> Items | None:
    """The items of an iterable, or None if a program cannot go through them."""
    if isinstance(iterable, _Lazy):
        return iterable.items()
    if isinstance(iterable, builtins.range):
        bounds = (iterable.start, iterable.stop, iterable.step)
        return Items(len(iterable), lambda k: bounds[0] + k * bounds[2], None, bounds)
    if isinstance(iterable, jax.Array | np.ndarray):
        return _of_array(iterable) if is_array(iterable) and iterable.ndim else None
    if type(iterable) in (list, tuple):
        return _of_sequence(iterable)
    return None


def _of_array(array: Any) -> Items:
    values = jnp.asarray(array)
    return _items(values.shape[0], lambda k: values[k])


def _items(length: Any, at: Callable[[Any], Any]) -> Items:
    return Items(None, at, lambda: length) if is_traced(length) else Items(length, at)


def _of_sequence(elements: Sequence[Any]) -> Items | None:
    if not elements:
        return Items(0, elements.__getitem__)
    if not all(map(_is_plain, elements)):
        return None
    splits = [Split.of(element) for element in elements]
    columns = list(zip(*(split.arrays for split in splits), strict=False))
    shapes = [{np.shape(leaf) for leaf in column} for column in columns]
    if any(split.tree != splits[0].tree for split in splits) or any(len(s) > 1 for s in shapes):
        return None
    arrays = [jnp.stack([jnp.asarray(leaf) for leaf in column]) for column in columns]
    kinds = {array.dtype.kind for array in arrays}
    if len(kinds) == 1 and _is_rectangular(elements[0]):
        return _of_array(jnp.asarray(elements))
    return Items(len(elements), lambda k: splits[0].joined([array[k] for array in arrays]))


def _is_plain(value: Any) -> bool:
    """Whether a value is a number, an array, or a list, tuple or dictionary of such."""
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    return is_array(value)


def _is_rectangular(value: Any) -> bool:
    """Whether nested lists and tuples have the form of an array."""
    if type(value) not in (list, tuple):
        return is_array(value)
    shapes = {np.shape(part) if is_array(part) else None for part in value}
    if None not in shapes:
        return len(shapes) == 1
    lengths = {len(part) if type(part) in (list, tuple) else None for part in value}
    return None not in lengths and len(lengths) == 1 and all(map(_is_rectangular, value))


# --- Python's functions --------------------------------------------------------------------------


class _Lazy:
    """An iterable for Python, of which a program may know the items by position."""

    def items(self) -> Items | None:
        """The items, if a program can go through them."""
        raise NotImplementedError


class TracedRange(_Lazy):
    """A `range` of traced numbers."""

    def __init__(self, *bounds: Any) -> None:
        lower, upper, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        self.start, self.stop, self.step = lower, upper, step

    def items(self) -> Items:
        """The numbers."""
        bounds = (self.start, self.stop, self.step)
        return Items(None, lambda k: self.start + k * self.step, self.length, bounds)

    def length(self) -> Any:
        """How many numbers there are."""
        start, stop, step = map(jnp.asarray, (self.start, self.stop, self.step))
        distance = jnp.where(step < 0, start - stop, stop - start)
        return jnp.maximum((distance + abs(step) - 1) // abs(step), 0)

    def __iter__(self) -> Iterator[Any]:
        raise TracedIndexError(what="a bound or step of a range", span=user_span())


class _Replay:
    """The items of an iterator of Python's; those that were taken can be taken again."""

    def __init__(self, make: Callable[[], Iterator[Any]], inner: Sequence[Any]) -> None:
        late = any(isinstance(value, jax.Array | _Lazy) for value in inner)
        self._make, self._taken = make, list[Any]()
        self._iterator = None if late else make()  # it would cut a traced array into its items

    def at(self, position: int) -> Any:
        """The item at a position; raises StopIteration where there is none."""
        if self._iterator is None:
            self._iterator = self._make()
        while len(self._taken) <= position:
            self._taken.append(next(self._iterator))
        return self._taken[position]


class ItemIterator(_Lazy):
    """An iterator: what was taken of it is gone, whether a program took it or Python."""

    def __init__(self, make: Callable[[], Iterator[Any]], *iterables: Any) -> None:
        self._iterables, self._replay = iterables, _Replay(make, iterables)
        self._position: float | None = 0
        """How many were taken; infinite after a loop of the program, None after one with `break`"""

    def items(self) -> Items | None:
        """The items, if none was taken and a program can go through them."""
        return None if self._position != 0 else self._all()

    def _all(self) -> Items | None:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._position is None:
            raise TracedIndexError(what="the position of an iterator", span=user_span())
        if self._position == math.inf:
            raise StopIteration
        item = self._replay.at(int(self._position))
        self._position += 1
        return item

    def spend(self, wholly: bool) -> None:
        """A loop of the program has taken the items: all, or as many as `break` allowed."""
        self._position = math.inf if wholly else None
        for inner in self._iterables:
            spend(inner, wholly and len(self._iterables) == 1)  # a longer one keeps its rest


def spend(iterable: Any, wholly: bool) -> None:
    """A loop of the program has gone through an iterable: an iterator is spent now."""
    if isinstance(iterable, ItemIterator):
        iterable.spend(wholly)


class Enumeration(ItemIterator):
    """`enumerate`."""

    def __init__(self, iterable: Any, start: Any = 0) -> None:
        super().__init__(lambda: builtins.enumerate(iterable, start), iterable)
        self.iterable, self.start = iterable, start

    def _all(self) -> Items | None:
        inner = items_of(self.iterable)
        return inner and inner.mapped(lambda k: (self.start + k, inner.at(k)))


class Zip(ItemIterator):
    """`zip`."""

    def __init__(self, *iterables: Any, strict: bool = False) -> None:
        super().__init__(lambda: builtins.zip(*iterables, strict=strict), *iterables)
        self.strict = strict

    def _all(self) -> Items | None:
        parts = [items_of(iterable) for iterable in self._iterables]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or not parts:
            return None

        def at(position: Any) -> tuple[Any, ...]:
            return tuple(part.at(position) for part in known)

        lengths = [part.known_length for part in known]
        if self.strict and (None in lengths or len(set(lengths)) > 1):
            return None
        if None not in lengths:
            return Items(min(length for length in lengths if length is not None), at)
        return Items(None, at, lambda: _least([part.length for part in known]))


def _least(lengths: Sequence[Any]) -> Any:
    return jnp.stack([jnp.asarray(length) for length in lengths]).min()


class Reversed(ItemIterator):
    """`reversed`."""

    def __init__(self, iterable: Any, /) -> None:
        super().__init__(lambda: builtins.reversed(iterable), iterable)
        self.iterable = iterable

    def _all(self) -> Items | None:
        inner = items_of(self.iterable)
        return inner and inner.mapped(lambda k: inner.at(inner.length - 1 - k))
