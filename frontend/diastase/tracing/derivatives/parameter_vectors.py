"""Parameters that are computed alike, as one vector: what it is made of, and how to compute it.

Gates written out have parameters such as `2 * angles[l, q, 0] + 0.1` with a few equations each.
Lowering sees through them (`scalar_forms`, decision 0021): they are of one *form*, and differ in
numbers only. Here the scalars of one form become a vector: a tree of the form's equations over

    Table       numbers known now
    Picked      elements of an array of the jaxpr (a *root*), by their places in it
    Gathered    the same, of places that are computed

so that it is computed, and differentiated, by as many equations as one of them has. A root is a
variable, or a row of one (`angles[l]`, where l is the index of a loop), or a scalar, of which all
places are 0. `vectors_of_scalars` finds them.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase.tracing.derivatives.selections import elements_at, picked


@dataclass(frozen=True)
class Root:
    """An array whose elements are picked; equal where `key` is."""

    key: Hashable
    array: Any
    starts: tuple["Vector | None", ...] = field(default=(), compare=False)
    """For a row: where it starts along each axis, of a size of 1; None where it has all of it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array, or of the row."""
        shape = self.array.aval.shape
        if not self.starts:
            return shape
        return tuple(
            size if start is None else 1 for size, start in zip(shape, self.starts, strict=True)
        )

    @property
    def needs(self) -> list[Any]:
        """The variables that it is computed from."""
        more = [start for start in self.starts if start is not None]
        return [self.array, *(variable for start in more for variable in variables_of(start))]

    def value(self, known: Mapping[Any, Any]) -> Any:
        """The array, given the values of variables."""
        array = known[self.array]
        if not self.starts:
            return array
        first = [
            jnp.int64(0) if start is None else jnp.squeeze(_integers(start, known), 0)
            for start in self.starts
        ]
        return lax.dynamic_slice(array, first, self.shape, allow_negative_indices=False)


@dataclass(frozen=True)
class Table:
    """Numbers."""

    values: np.ndarray


@dataclass(frozen=True)
class Picked:
    """Elements of a root."""

    root: Root
    places: np.ndarray

    def elements(self, value: Any, known: Mapping[Any, Any]) -> Any:
        """The vector, given the value of the root."""
        return picked(_flat(value), self.places)


@dataclass(frozen=True)
class Gathered:
    """Elements of a root at computed places, which are kept within bounds."""

    root: Root
    starts: "tuple[Vector, ...]"
    """The places along each axis."""

    def elements(self, value: Any, known: Mapping[Any, Any]) -> Any:
        """The vector, given the value of the root."""
        return elements_at(_flat(value), self.computed_places(known))

    def computed_places(self, known: Mapping[Any, Any]) -> Any:
        """Where the elements are in the root, its axes being one."""
        total = None
        for size, start in zip(self.root.shape, self.starts, strict=True):
            place = lax.clamp(np.int64(0), _integers(start, known), np.int64(size - 1))
            total = place if total is None else total * size + place
        return total


@dataclass(frozen=True)
class Applied:
    """An equation of scalars, applied to each element of vectors."""

    equation: Any
    operands: "tuple[Vector, ...]"


Leaf = Picked | Gathered
Vector = Table | Picked | Gathered | Applied


def leaves_of(vector: Vector) -> list[Leaf]:
    """All that is picked or gathered, in the order of the tree."""
    if isinstance(vector, Applied):
        return [leaf for operand in vector.operands for leaf in leaves_of(operand)]
    return [] if isinstance(vector, Table) else [vector]


def variables_of(vector: Vector) -> list[Any]:
    """The variables that a vector is computed from."""
    found = list[Any]()
    for leaf in leaves_of(vector):
        found += leaf.root.needs
        if isinstance(leaf, Gathered):
            found += [variable for start in leaf.starts for variable in variables_of(start)]
    return found


def computed(vector: Vector, elements: Callable[[Leaf], Any]) -> Any:
    """The vector, given what is picked and gathered."""
    if isinstance(vector, Leaf):
        return elements(vector)
    if isinstance(vector, Table):
        return _table(vector.values)
    operands = [computed(operand, elements) for operand in vector.operands]
    primitive, params = vector.equation.primitive, vector.equation.params
    with vector.equation.ctx.manager:
        return primitive.bind(*operands, **primitive.get_bind_params(params))


def _table(values: np.ndarray) -> Any:
    if _is_repeated(values):
        return lax.full(values.shape, values[0])
    return jnp.asarray(values)


def _is_repeated(values: np.ndarray) -> bool:
    return values.tobytes() == values[:1].tobytes() * len(values)


def _integers(vector: Vector, known: Mapping[Any, Any]) -> Any:
    """A vector of integers, as they are in programs."""
    values = computed(vector, lambda leaf: leaf.elements(leaf.root.value(known), known))
    return lax.convert_element_type(values, np.int64)


def _flat(value: Any) -> Any:
    return lax.reshape(value, (value.size,))
