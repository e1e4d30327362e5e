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
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase.primitives.derivatives import is_inexact
from diastase.tracing.derivatives.parameter_vectors import (
    Picked,
    Root,
    Vector,
    computed,
    leaves_of,
)
from diastase.tracing.derivatives.selections import picked, put_into_places
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
        shares = picked(numbers.vector(), np.concatenate(places))
        total = total + jnp.dot(shares, jnp.concatenate(values))
    return total


def _real_numbers(value: Any) -> Any:
    """A parameter; of an array the real and the imaginary part of each element."""
    if jnp.ndim(value) == 0:
        return jnp.ravel(jnp.asarray(value, jnp.float64))
    pairs = jnp.stack([jnp.real(value), jnp.imag(value)], axis=-1)
    return jnp.ravel(pairs).astype(jnp.float64)


class _Numbers:
    """Derivatives by vectors, one after the other, the first of them being what is read of g."""

    def __init__(self, weights: Any) -> None:
        self._weights = weights
        self._parts: list[Any] = []
        self._size = 0

    def window(self, entry: Taken) -> int:
        """The place of a stretch's first number."""
        if isinstance(entry.start, int):
            part = lax.slice(self._weights, (entry.start,), (entry.start + entry.stretch.count,))
        else:
            start = jnp.asarray(entry.start, jnp.int64)
            size = (entry.stretch.count,)
            part = lax.dynamic_slice(self._weights, (start,), size, allow_negative_indices=False)
        return self.append(part)

    def append(self, part: Any) -> int:
        """The place of the first element of a part that is new."""
        self._parts.append(part)
        self._size += part.size
        return self._size - part.size

    def vector(self) -> Any:
        """All parts."""
        if len(self._parts) > 1:
            self._parts = [lax.concatenate(self._parts, 0)]
        return self._parts[0]


@dataclass
class _Cotangents:
    """Of the roots of vectors: which number belongs to which element."""

    known: Mapping[Any, Any]
    _roots: dict[Hashable, tuple[Root, Any]] = field(default_factory=dict)
    _pieces: dict[Hashable, list[tuple[np.ndarray, np.ndarray]]] = field(default_factory=dict)

    def add(self, vector: Vector, numbers: _Numbers, sources: np.ndarray) -> None:
        """A vector of parameters whose derivatives are these numbers."""
        if isinstance(vector, Picked):
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
            def pick(leaf: Picked) -> Any:
                place = places.get(id(leaf))
                return self._elements(leaf) if place is None else elements[place]

            return computed(vector, pick)

        _, pull_back = jax.vjp(parameters, *map(self._elements, leaves))
        derivatives = pull_back(picked(numbers.vector(), sources))
        for leaf, derivative in zip(leaves, derivatives, strict=True):
            first = numbers.append(derivative.astype(np.float64))
            self._put(leaf, first + np.arange(len(sources)))

    def total(self, numbers: _Numbers) -> Any:
        """The sum of all roots, each paired with its cotangent."""
        total = jnp.float64(0)
        for key, pieces in self._pieces.items():
            root, value = self._roots[key]
            size = int(np.prod(root.shape))
            flat = put_into_places(size, pieces, numbers.vector())
            cotangent = lax.stop_gradient(flat).reshape(root.shape)
            total = total + jnp.sum(cotangent.astype(value.dtype) * value).astype(np.float64)
        return total

    def _put(self, leaf: Picked, sources: np.ndarray) -> None:
        self._pieces.setdefault(leaf.root.key, []).append((leaf.places, sources))

    def _value(self, root: Root) -> Any:
        if root.key not in self._roots:
            self._roots[root.key] = root, jnp.asarray(root.value(self.known))
        return self._roots[root.key][1]

    def _elements(self, leaf: Picked) -> Any:
        flat = jnp.ravel(lax.stop_gradient(self._value(leaf.root)))
        return picked(flat, leaf.places)
