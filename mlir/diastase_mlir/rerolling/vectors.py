"""Scalars of one form (`scalar_forms`) as one vector, computed by as many equations as one of them.

What is known now stays an array of numbers as long as possible: integers that are computed of
known numbers, as places in arrays are, are computed here. All else is recorded in the current
trace:

    an element of an array         slices of the array, or a gather by a table
    an element at computed places  a row of the array if all are in one, or a gather
    arithmetic                     the same equation on vectors; on one element where all are equal
    a variable                     repeated
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jax import lax

from diastase_mlir.jax_compat import evaluate_equation
from diastase_mlir.rerolling.places import elements_at, picked
from diastase_mlir.rerolling.recording import Values
from diastase_mlir.rerolling.scalar_forms import Scalar

LEAST_ALIKE = 4
"""Scalars of one form from which on they are a vector."""


def vector_of(scalars: Sequence[Scalar], values: Values) -> Any:
    """The vector of scalars of one form: an array of numbers, or a value of the trace."""
    first = scalars[0]
    match first.form[0]:
        case "number":
            return np.array([scalar.columns[0] for scalar in scalars], first.aval.dtype)
        case "element":
            positions = np.array([scalar.columns for scalar in scalars]).T
            return _elements(values(first.atom), tuple(positions))
        case "variable" | "literal":
            return _repeated(values(first.atom), len(scalars))
        case "squeeze" | "reshape":
            return vector_of([scalar.operands[0] for scalar in scalars], values)
        case "dynamic_slice":
            return _of_slices(scalars, values)
        case _:
            return _of_operands(scalars, values)


def _of_operands(scalars: Sequence[Scalar], values: Values) -> Any:
    first = scalars[0]
    if len(scalars) > 1 and all(scalar.row == first.row for scalar in scalars):
        return _repeated(_of_operands(scalars[:1], values), len(scalars))
    operands = [
        vector_of([scalar.operands[number] for scalar in scalars], values)
        for number in range(len(first.operands))
    ]
    known = _folded(first, operands)
    if known is not None:
        return known
    if first.form[0] == "dot_general":
        return lax.mul(*operands)
    (result,) = evaluate_equation(first.equation, operands)
    return result if operands else _repeated(result, len(scalars))


def _of_slices(scalars: Sequence[Scalar], values: Values) -> Any:
    """Elements at places which `dynamic_slice` keeps inside of the array."""
    array = values(scalars[0].operands[0].atom)
    along = list(zip(*(scalar.operands[1:] for scalar in scalars), strict=True))
    starts = [vector_of(operands, values) for operands in along]
    if not all(isinstance(size, int) for size in array.shape):
        return _gathered(array, starts)
    is_row = all(
        isinstance(start, np.ndarray) or len({scalar.row for scalar in operands}) == 1
        for start, operands in zip(starts, along, strict=True)
    )
    return _of_row(array, starts) if is_row else _at_places(array, starts)


def _of_row(array: Any, starts: Sequence[Any]) -> Any:
    """Elements of one row: along some axes all are at one computed place."""
    known = [isinstance(start, np.ndarray) for start in starts]
    if not all(known):
        first = [
            np.int64(0) if is_known else lax.squeeze(lax.slice(_places(start), (0,), (1,)), (0,))
            for start, is_known in zip(starts, known, strict=True)
        ]
        shape = [size if own else 1 for size, own in zip(array.shape, known, strict=True)]
        array = lax.dynamic_slice(array, first, shape, allow_negative_indices=False)
    positions = [
        np.clip(start.astype(np.int64), 0, size - 1) if is_known else np.zeros(start.shape, int)
        for start, size, is_known in zip(starts, array.shape, known, strict=True)
    ]
    return _elements(array, tuple(positions))


def _at_places(array: Any, starts: Sequence[Any]) -> Any:
    """Elements at places of which not all are known."""
    known: Any = 0
    total: Any = None
    for size, step, start in zip(array.shape, _steps(array.shape), starts, strict=True):
        if isinstance(start, np.ndarray):
            known = known + np.clip(start.astype(np.int64), 0, size - 1) * step
            continue
        place = lax.clamp(np.int64(0), _places(start), np.int64(size - 1))
        part = place if step == 1 else lax.mul(place, np.full(place.shape, step))
        total = part if total is None else lax.add(total, part)
    if np.any(known):
        total = lax.add(total, known)
    return elements_at(lax.reshape(array, (array.size,)), total)


def _steps(shape: Sequence[int]) -> list[int]:
    """How far apart neighbours along each axis are, all axes being one."""
    return [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]


def _gathered(array: Any, starts: Sequence[Any]) -> Any:
    """The same of an array whose sizes are not known."""
    axes = tuple(range(len(starts)))
    return lax.gather(
        array,
        lax.concatenate([lax.expand_dims(_places(start), (1,)) for start in starts], 1),
        lax.GatherDimensionNumbers((), axes, axes),
        slice_sizes=(1,) * len(starts),
        mode=lax.GatherScatterMode.CLIP,
    )


def _elements(array: Any, positions: tuple[np.ndarray, ...]) -> Any:
    """Elements at positions, one array of numbers for each axis."""
    places: Any = np.ravel_multi_index(positions, array.shape)
    return picked(lax.reshape(array, (array.size,)), places)


def _places(start: Any) -> Any:
    return lax.convert_element_type(start, np.int64)


def _repeated(value: Any, count: int) -> Any:
    """A scalar, or the one element of an array, so many times."""
    if isinstance(value, np.ndarray):
        return np.full(count, np.reshape(value, ()))
    return lax.broadcast(lax.reshape(value, ()) if value.shape else value, (count,))


FOLDED: Mapping[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
    "max": np.maximum, "min": np.minimum, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "convert_element_type": np.asarray,
}  # fmt: skip
"""Exact in integers, which wrap around here as they do when the program runs."""


def _folded(scalar: Scalar, operands: Sequence[Any]) -> np.ndarray | None:
    is_known = operands and all(
        isinstance(operand, np.ndarray) and operand.dtype.kind in "iub" for operand in operands
    )
    name, dtype = scalar.form[0], scalar.aval.dtype
    if not is_known or dtype.kind not in "iub":
        return None
    if name == "select_n" and operands[0].dtype == np.bool_ and len(operands) == 3:
        return np.where(operands[0], operands[2], operands[1])
    return FOLDED[name](*operands).astype(dtype) if name in FOLDED else None
