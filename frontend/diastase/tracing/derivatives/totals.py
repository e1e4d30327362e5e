"""What the operations of a region add to the surrogate's total, all at once.

`total_of` gives a number whose gradient is that of `g . parameters`. For parameters that are
elements of a root (`parameter_vectors`), the derivatives g are put into the places of a *cotangent*
of the root, an array like it, which is held fixed and paired with the root: the gradient by the
root is the cotangent itself, whatever the root is computed from. What a vector does to its elements
on the way is differentiated once for the vector. So there are as many equations as there are roots
and forms, not as there are operations.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase.primitives.derivatives import is_inexact
from diastase.tracing.derivatives.parameter_vectors import (
    Gathered,
    Leaf,
    Picked,
    Root,
    Vector,
    computed,
    leaves_of,
)
from diastase.tracing.derivatives.selections import added_at, picked, put_into_places
from diastase.tracing.derivatives.stretches import Stretch


@dataclass(frozen=True)
class Taken:
    """A stretch that was executed, from a number of g on: one known now, or a traced one."""

    start: Any
    stretch: Stretch


def total_of(weights: Any, taken: Sequence[Taken], known: Mapping[Any, Any]) -> Any:
    """What stretches add, given the values of the variables of their region."""
    numbers = _Numbers(weights)
    cotangents = _Cotangents(known)
    values, places = list[Any](), list[np.ndarray]()
    for entry in taken:
        first = numbers.window(entry)
        for vector, offsets in entry.stretch.vectors:
            cotangents.add(vector, numbers, first + offsets)
        for variable, offset in entry.stretch.others:
            value = _real_numbers(known[variable])
            values.append(value)
            places.append(first + offset + np.arange(value.size))
    total = cotangents.total(numbers)
    if values:
        shares = numbers.picked(np.concatenate(places))
        pairs = lax.mul(shares, lax.concatenate(values, 0))
        total = lax.add(total, _summed(pairs))
    return total


def _real_numbers(value: Any) -> Any:
    """A parameter; of an array the real and the imaginary part of each element."""
    if jnp.ndim(value) == 0:
        return jnp.ravel(jnp.asarray(value, jnp.float64))
    pairs = jnp.stack([jnp.real(value), jnp.imag(value)], axis=-1)
    return jnp.ravel(pairs).astype(jnp.float64)


def _summed(value: Any) -> Any:
    return lax.reduce_sum(value, tuple(range(value.ndim))) if value.ndim else value


class _Numbers:
    """Vectors of derivatives, one after the other, the first of them being what is read of g."""

    def __init__(self, weights: Any) -> None:
        self._weights = weights
        self._parts: list[Any] = []
        self._firsts = [0]

    def window(self, entry: Taken) -> int:
        """The place of a stretch's first number."""
        count = entry.stretch.count
        if isinstance(entry.start, int):
            return self.append(lax.slice(self._weights, (entry.start,), (entry.start + count,)))
        start = [jnp.asarray(entry.start, jnp.int64)]
        return self.append(
            lax.dynamic_slice(self._weights, start, (count,), allow_negative_indices=False)
        )

    def append(self, part: Any) -> int:
        """The place of the first element of a part that is new."""
        self._parts.append(part)
        self._firsts.append(self._firsts[-1] + part.size)
        return self._firsts[-2]

    def of(self, places: np.ndarray) -> tuple[Any, np.ndarray]:
        """A vector that has all numbers of these places, and where."""
        numbers = np.searchsorted(self._firsts, places, side="right") - 1
        used = np.unique(numbers)
        parts = [self._parts[number] for number in used]
        sizes = np.array([part.size for part in parts])
        moved = np.zeros(len(self._parts), np.int64)
        moved[used] = np.cumsum(sizes) - sizes
        where = places - np.array(self._firsts)[numbers] + moved[numbers]
        return parts[0] if len(parts) == 1 else lax.concatenate(parts, 0), where

    def picked(self, places: np.ndarray) -> Any:
        """The numbers of these places."""
        return picked(*self.of(places))


@dataclass
class _Cotangents:
    """Of the roots of vectors: which number belongs to which element."""

    known: Mapping[Any, Any]
    _roots: dict[Hashable, tuple[Root, Any]] = field(default_factory=dict)
    _pieces: dict[Hashable, list[tuple[np.ndarray, np.ndarray]]] = field(default_factory=dict)
    _gathered: dict[Hashable, list[tuple[Gathered, np.ndarray]]] = field(default_factory=dict)

    def add(self, vector: Vector, numbers: _Numbers, sources: np.ndarray) -> None:
        """A vector of parameters whose derivatives are these numbers."""
        if isinstance(vector, Leaf):
            if self._value(vector.root).dtype == np.float64:
                self._put(vector, sources)
                return
        leaves = [
            leaf for leaf in leaves_of(vector) if is_inexact(jax.typeof(self._value(leaf.root)))
        ]
        if not leaves:
            return
        places = {id(leaf): number for number, leaf in enumerate(leaves)}

        def parameters(*elements: Any) -> Any:
            def element(leaf: Leaf) -> Any:
                place = places.get(id(leaf))
                return self._elements(leaf) if place is None else elements[place]

            return computed(vector, element)

        _, pull_back = jax.vjp(parameters, *map(self._elements, leaves))
        derivatives = pull_back(numbers.picked(sources))
        for leaf, derivative in zip(leaves, derivatives, strict=True):
            first = numbers.append(lax.convert_element_type(derivative, np.float64))
            self._put(leaf, first + np.arange(len(sources)))

    def total(self, numbers: _Numbers) -> Any:
        """The sum of all roots, each paired with its cotangent."""
        totals = list[Any]()
        for key in dict.fromkeys([*self._pieces, *self._gathered]):
            root, value = self._roots[key]
            flat = self._cotangent(key, int(np.prod(root.shape)), numbers)
            cotangent = lax.reshape(lax.stop_gradient(flat), root.shape)
            pairs = lax.mul(lax.convert_element_type(cotangent, value.dtype), value)
            totals.append(lax.convert_element_type(_summed(pairs), np.float64))
        return reduce(lax.add, totals) if totals else jnp.float64(0)

    def _cotangent(self, key: Hashable, size: int, numbers: _Numbers) -> Any:
        """The cotangent of a root, its axes being one."""
        pieces = self._pieces.get(key)
        flat: Any = jnp.zeros(size)
        if pieces:
            vector, sources = numbers.of(np.concatenate([places for _, places in pieces]))
            targets = np.concatenate([places for places, _ in pieces])
            flat = put_into_places(size, [(targets, sources)], vector)
        for leaf, sources in self._gathered.get(key, ()):
            flat = added_at(flat, leaf.computed_places(self.known), numbers.picked(sources))
        return flat

    def _put(self, leaf: Leaf, sources: np.ndarray) -> None:
        if isinstance(leaf, Picked):
            self._pieces.setdefault(leaf.root.key, []).append((leaf.places, sources))
        else:
            self._gathered.setdefault(leaf.root.key, []).append((leaf, sources))

    def _value(self, root: Root) -> Any:
        if root.key not in self._roots:
            self._roots[root.key] = root, jnp.asarray(root.value(self.known))
        return self._roots[root.key][1]

    def _elements(self, leaf: Leaf) -> Any:
        return leaf.elements(lax.stop_gradient(self._value(leaf.root)), self.known)
