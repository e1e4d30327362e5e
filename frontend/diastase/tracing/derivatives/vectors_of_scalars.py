"""From scalars of one form to the vector that they are (`parameter_vectors`). All of it is pure.

The form of a scalar is what lowering sees it as (`scalar_forms`): the same tree, of one scalar.
Integers that are computed of known numbers, as places in arrays are, are computed here.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from diastase.tracing.derivatives.parameter_vectors import (
    Applied,
    Gathered,
    Picked,
    Root,
    Table,
    Vector,
)
from diastase_mlir.lowering.scalar_forms import Scalar

_MOST_ELEMENTS = 1 << 20
"""Of a root: its cotangent is an array of so many."""


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
            places: Any = np.ravel_multi_index(tuple(positions), first.atom.aval.shape)
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
    """Elements at computed places: those of one row, if what is not known is the same."""
    array = scalars[0].operands[0]
    shape = array.aval.shape
    if array.form[0] != "variable" or not all(isinstance(size, int) for size in shape):
        return None
    if array.atom.aval.size > _MOST_ELEMENTS:
        return None
    along = [[scalar.operands[1 + axis] for scalar in scalars] for axis in range(len(shape))]
    starts = list[Vector]()
    for operands in along:
        start = vector_of(operands)
        if start is None:
            return None
        starts.append(start)
    if any(
        not isinstance(start, Table) and len({scalar.row for scalar in operands}) > 1
        for start, operands in zip(starts, along, strict=True)
    ):
        return Gathered(Root(array.atom, array.atom), tuple(starts))
    return _of_row(array.atom, starts, along)


def _of_row(array: Any, starts: Sequence[Vector], along: Sequence[Sequence[Scalar]]) -> Picked:
    first, places, keys = list[Vector | None](), list[np.ndarray](), list[Hashable]()
    for size, start, operands in zip(array.aval.shape, starts, along, strict=True):
        if isinstance(start, Table):
            first.append(None)
            places.append(np.clip(start.values.astype(np.int64), 0, size - 1))
            keys.append(None)
        else:
            first.append(vector_of(operands[:1]))
            places.append(np.zeros(len(operands), np.int64))
            keys.append((operands[0].form, operands[0].row))
    is_row = any(start is not None for start in first)
    root = Root((array, *keys), array, tuple(first)) if is_row else Root(array, array)
    return Picked(root, np.asarray(np.ravel_multi_index(tuple(places), root.shape)))


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
