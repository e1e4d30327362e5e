"""Scalars of one form (`scalar_forms`) as one vector, computed by as many equations as one of them.

What is known now stays an array of numbers as long as possible: integers that are computed of
known numbers, as places in arrays are, are computed here. All else is recorded in the current
trace (`recorded`), to stand in the jaxpr that has the scalars:

    an element of an array         slices of the array, or a gather by a table
    an element at computed places  a row of the array if all are in one, or a gather
    arithmetic                     the same equation on vectors; on one element where all are equal
    a variable                     repeated

Places that follow each other in equal steps are one slice (`picked`). `put_into_places` is the way
back, all at once: to transpose the reading of each element would be an array of zeros for each.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.jax_compat import (
    constant_equation,
    evaluate_equation,
    source_context,
    trace_to_jaxpr,
)
from diastase_mlir.rerolling.scalar_forms import Scalar

Equation = Any


Values = Callable[[Any], Any]
"""From an atom of a jaxpr to its value in the current trace."""


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


def recorded(
    compute: Callable[[Values], Any], needs: Iterable[Any], source: Any
) -> tuple[list[Equation], Any]:
    """The equations of `compute`, which asks for the values of these variables; its result."""
    variables = list(dict.fromkeys(needs))

    def computed(*operands: Any) -> list[Any]:
        known = dict(zip(variables, operands, strict=True))
        return [compute(lambda atom: known[atom] if is_variable(atom) else _array(atom))]

    with source_context(source):
        made, captured = trace_to_jaxpr(computed, [atom.aval for atom in variables], "vector")
    inputs, (result,) = made.jaxpr.invars, made.jaxpr.outvars
    tables = zip(inputs, captured, strict=False)
    equations = [constant_equation(variable, np.asarray(value)) for variable, value in tables]
    instead: dict[Any, Any] = dict(zip(inputs[len(captured) :], variables, strict=True))
    for equation in made.jaxpr.eqns:
        operands = [instead.get(a, a) if is_variable(a) else a for a in equation.invars]
        equations.append(equation.replace(invars=operands))
    return equations, instead.get(result, result)


def _array(literal: Any) -> np.ndarray:
    return np.asarray(literal.val, literal.aval.dtype)


def is_variable(atom: Any) -> bool:
    """Whether an atom is no number."""
    return not hasattr(atom, "val")


MOST_SLICES = 4
"""Of a vector; what would need more is read by a table."""
_MOST_LAYERS = 4
"""Numbers for one element; what has more is added up by a table."""


def _runs(places: np.ndarray) -> list[tuple[int, int, int]]:
    """`(first, step, length)` of stretches in equal steps; a place of -1 stands by itself."""
    steps = np.diff(places)
    runs: list[tuple[int, int, int]] = []
    begin, count = 0, len(places)
    changes = np.flatnonzero(np.diff(steps)) + 1
    borders = np.flatnonzero(np.diff(places < 0)) + 1  # 2, 1, 0, -1 is in equal steps, too.
    while begin < count:
        if begin == count - 1:
            runs.append((int(places[begin]), 1, 1))
            break
        later = changes[np.searchsorted(changes, begin, side="right") :]
        end = int(later[0]) + 1 if len(later) else count
        step = int(steps[begin])
        near = borders[np.searchsorted(borders, begin, side="right") :]
        if len(near) and near[0] < end:
            end = int(near[0])
        elif end - begin == 2 and end < count and int(steps[begin + 1]) != step:
            end, step = begin + 1, 1  # Two are no stretch yet: the next one may begin here.
        runs.append((int(places[begin]), step, end - begin))
        begin = end
    return runs


def picked(vector: Any, places: np.ndarray) -> Any:
    """`vector[places]`, zero where a place is negative; a few slices, or a table of places."""
    runs = _runs(places)
    if len(runs) > MOST_SLICES:
        return _by_table(vector, places)
    pieces = [_piece(vector, *run) for run in runs]
    return pieces[0] if len(pieces) == 1 else lax.concatenate(pieces, 0)


def _by_table(vector: Any, places: np.ndarray) -> Any:
    found = elements_at(vector, np.maximum(places, 0))
    if (places >= 0).all():
        return found
    return lax.select(jnp.asarray(places >= 0), found, jnp.zeros(len(places), vector.dtype))


def elements_at(vector: Any, places: Any) -> Any:
    """The elements at places, none of which is out of bounds: a table, or computed ones."""
    axes = lax.GatherDimensionNumbers((), (0,), (0,))
    indices = lax.expand_dims(places, (1,))
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return lax.gather(vector, indices, axes, slice_sizes=(1,), mode=mode)


def added_at(total: Any, places: Any, values: Any, *, is_sorted: bool = False) -> Any:
    """A vector with values added to its elements at such places."""
    axes = lax.ScatterDimensionNumbers((), (0,), (0,))
    indices = lax.expand_dims(places, (1,))
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return lax.scatter_add(total, indices, values, axes, indices_are_sorted=is_sorted, mode=mode)


def _piece(vector: Any, first: int, step: int, length: int) -> Any:
    if first < 0:
        return jnp.zeros(length, vector.dtype)
    if length == vector.size and step == 1:
        return vector
    if step == 0:
        return jnp.broadcast_to(lax.slice(vector, (first,), (first + 1,)), (length,))
    last = first + step * (length - 1)
    if step > 0:
        return lax.slice(vector, (first,), (last + 1,), (step,))
    return lax.rev(lax.slice(vector, (last,), (first + 1,), (-step,)), (0,))


def put_into_places(size: int, pieces: Sequence[tuple[np.ndarray, np.ndarray]], vector: Any) -> Any:
    """A vector of zeros to which elements of another are added: `(targets, sources)` of each."""
    targets = np.concatenate([target for target, _ in pieces])
    sources = np.concatenate([source for _, source in pieces])
    order = np.argsort(targets, kind="stable")
    targets, sources = targets[order], sources[order]
    counts = np.bincount(targets, minlength=size)
    most = int(counts.max())
    starts = np.cumsum(counts) - counts
    if size == 1:
        return jnp.sum(picked(vector, sources), keepdims=True)
    if most > _MOST_LAYERS:
        zeros = jnp.zeros(size, vector.dtype)
        return added_at(zeros, targets, picked(vector, sources), is_sorted=True)
    total = None
    for layer in range(most):
        has = counts > layer
        places = np.full(size, -1)
        places[has] = sources[starts[has] + layer]
        found = picked(vector, places)
        total = found if total is None else total + found
    return total


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
