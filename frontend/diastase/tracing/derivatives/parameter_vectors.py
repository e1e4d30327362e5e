"""Parameters that are computed alike, as one vector: what it is made of, and how to compute it.

Gates written out have parameters such as `2 * angles[l, q, 0] + 0.1` with a few equations each.
Lowering sees through them (`scalar_forms`, decision 0021): they are of one *form*, and differ in
numbers only. Here the scalars of one form become a vector: a tree of the form's equations over

    Table     numbers known now
    Picked    elements of an array of the jaxpr (a *root*), by their places in it

so that it is computed, and differentiated, by as many equations as one of them has. A root is a
variable, or a row of one (`angles[l]`, where l is the index of a loop), or a scalar, of which all
places are 0. Everything here is pure but `computed`, which records equations.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.tracing.derivatives.selections import picked
from diastase_mlir.lowering.scalar_forms import Scalar

_MOST_ELEMENTS = 1 << 20
"""Of a root: its cotangent is an array of so many."""


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
            jnp.int64(0)
            if start is None
            else jax.lax.convert_element_type(computed(start, _element(known))[0], np.int64)
            for start in self.starts
        ]
        return jax.lax.dynamic_slice(array, first, self.shape, allow_negative_indices=False)


@dataclass(frozen=True)
class Table:
    """Numbers."""

    values: np.ndarray


@dataclass(frozen=True)
class Picked:
    """Elements of a root."""

    root: Root
    places: np.ndarray


@dataclass(frozen=True)
class Applied:
    """An equation of scalars, applied to each element of vectors."""

    equation: Any
    operands: "tuple[Vector, ...]"


Vector = Table | Picked | Applied


def leaves_of(vector: Vector) -> list[Picked]:
    """All that is picked, in the order of the tree."""
    if isinstance(vector, Applied):
        return [leaf for operand in vector.operands for leaf in leaves_of(operand)]
    return [vector] if isinstance(vector, Picked) else []


def variables_of(vector: Vector) -> list[Any]:
    """The variables that a vector is computed from."""
    return [variable for leaf in leaves_of(vector) for variable in leaf.root.needs]


def computed(vector: Vector, pick: Callable[[Picked], Any]) -> Any:
    """The vector, given what is picked."""
    if isinstance(vector, Picked):
        return pick(vector)
    if isinstance(vector, Table):
        return _table(vector.values)
    operands = [computed(operand, pick) for operand in vector.operands]
    primitive, params = vector.equation.primitive, vector.equation.params
    with vector.equation.ctx.manager:
        return primitive.bind(*operands, **primitive.get_bind_params(params))


def _table(values: np.ndarray) -> Any:
    if _is_repeated(values):
        return jax.lax.full(values.shape, values[0])
    return jnp.asarray(values)


def _is_repeated(values: np.ndarray) -> bool:
    return values.tobytes() == values[:1].tobytes() * len(values)


def _element(known: Mapping[Any, Any]) -> Callable[[Picked], Any]:
    return lambda leaf: picked(jnp.ravel(leaf.root.value(known)), leaf.places)


# --- from scalars to vectors ----------------------------------------------------------------------


def vector_of(scalars: Sequence[Scalar]) -> Vector | None:
    """The vector of scalars of one form; None where it is none of these trees."""
    first = scalars[0]
    name = first.form[0]
    match name:
        case "number":
            return Table(np.array([scalar.columns[0] for scalar in scalars], first.aval.dtype))
        case "element":
            if first.atom.aval.size > _MOST_ELEMENTS:
                return None
            positions = np.array([scalar.columns for scalar in scalars]).T
            places = np.ravel_multi_index(tuple(positions), first.atom.aval.shape)
            return Picked(Root(first.atom, first.atom), places)
        case "variable":
            if first.atom.aval.shape:
                return None
            return Picked(Root(first.atom, first.atom), np.zeros(len(scalars), np.int64))
        case "literal":
            return None
        case "squeeze":
            return vector_of([scalar.operands[0] for scalar in scalars])
        case "dynamic_slice":
            return _of_slices(scalars)
        case _:
            return _of_operands(scalars)


def _of_operands(scalars: Sequence[Scalar]) -> Vector | None:
    first = scalars[0]
    operands = list[Vector]()
    for number in range(len(first.operands)):
        operand = vector_of([scalar.operands[number] for scalar in scalars])
        if operand is None:
            return None
        operands.append(operand)
    if not operands:
        return None
    return _folded(first, operands) or Applied(first.equation, tuple(operands))


def _of_slices(scalars: Sequence[Scalar]) -> Vector | None:
    """Elements at computed places: one row has them all, if what is not known is the same."""
    array = scalars[0].operands[0]
    shape = array.aval.shape
    if array.form[0] != "variable" or not all(isinstance(size, int) for size in shape):
        return None
    if array.atom.aval.size > _MOST_ELEMENTS:
        return None
    starts, places, keys = list[Vector | None](), list[np.ndarray](), list[Hashable]()
    for axis, size in enumerate(shape):
        along = [scalar.operands[1 + axis] for scalar in scalars]
        start = vector_of(along)
        if isinstance(start, Table):
            starts.append(None)
            places.append(np.clip(start.values.astype(np.int64), 0, size - 1))
            keys.append(None)
        elif start is None or len({scalar.row for scalar in along}) > 1:
            return None
        else:
            starts.append(vector_of(along[:1]))
            places.append(np.zeros(len(scalars), np.int64))
            keys.append((along[0].form, along[0].row))
    is_row = any(start is not None for start in starts)
    key = (array.atom, *keys) if is_row else array.atom
    root = Root(key, array.atom, tuple(starts) if is_row else ())
    return Picked(root, np.ravel_multi_index(tuple(places), root.shape))


_FOLDED: Mapping[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
    "max": np.maximum, "min": np.minimum, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "convert_element_type": lambda values: values,
}  # fmt: skip
"""What is computed now, of integers: they wrap around here as they do when the program runs."""


def _folded(scalar: Scalar, operands: Sequence[Vector]) -> Table | None:
    values = [operand.values for operand in operands if isinstance(operand, Table)]
    is_known = len(values) == len(operands) and all(value.dtype.kind in "iub" for value in values)
    name, dtype = scalar.form[0], scalar.aval.dtype
    if not is_known or dtype.kind not in "iub":
        return None
    if name == "select_n" and values[0].dtype == np.bool_ and len(values) == 3:
        return Table(np.where(values[0], values[2], values[1]))
    return Table(_FOLDED[name](*values).astype(dtype)) if name in _FOLDED else None
