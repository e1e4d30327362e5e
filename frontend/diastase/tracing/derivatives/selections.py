"""Values that are elements of an array, and derivatives by that array, made all at once.

`angles[l, q, 0]` for each of a thousand gates is a thousand slices. The derivative of each by
`angles` would be an array of zeros but for one element, and all of these would be added up. Here
it is known instead which elements a value *selects*: derivatives by values are put into their
places, however many there are. Places that follow each other in equal steps are one slice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Literal, Var

_MOST_ELEMENTS = 1 << 20
MOST_SLICES = 4
"""Of a vector; what would need more is read by a table."""
_MOST_LAYERS = 4
"""Numbers for one element; what has more is added up by a table."""


@dataclass(frozen=True)
class Selection:
    """Elements of an input: its position, and their places in it, in the shape of the value."""

    source: int
    places: np.ndarray


def selections(closed: ClosedJaxpr, positions: Sequence[int]) -> dict[Any, Selection]:
    """All variables of a jaxpr that select elements of its inputs at some positions."""
    found: dict[Any, Selection] = {}
    for position in positions:
        variable = closed.jaxpr.invars[position]
        shape, dtype = variable.aval.shape, variable.aval.dtype
        if dtype == np.float64 and all(isinstance(size, int) for size in shape):
            size = int(np.prod(shape))
            if size <= _MOST_ELEMENTS:
                found[variable] = Selection(position, np.arange(size).reshape(shape))
    for equation in closed.jaxpr.eqns:
        rule = _RULES.get(equation.primitive.name)
        first = equation.invars[0] if equation.invars else None
        if rule is None or not isinstance(first, Var) or first not in found:
            continue
        places = rule(found[first].places, equation)
        if places is not None:
            found[equation.outvars[0]] = Selection(found[first].source, places)
    return found


def _slice(places: np.ndarray, equation: Any) -> np.ndarray:
    params = equation.params
    steps = params["strides"] or [1] * places.ndim
    bounds = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
    return places[tuple(slice(*bound) for bound in bounds)]


def _dynamic_slice(places: np.ndarray, equation: Any) -> np.ndarray | None:
    sizes = equation.params["slice_sizes"]
    starts = equation.invars[1:]
    if len(starts) != places.ndim or not all(isinstance(start, Literal) for start in starts):
        return None
    bounds = [
        (min(max(int(start.val), 0), length - size), size)
        for start, length, size in zip(starts, places.shape, sizes, strict=True)
    ]
    return places[tuple(slice(start, start + size) for start, size in bounds)]


def _same(places: np.ndarray, equation: Any) -> np.ndarray | None:
    is_same = equation.outvars[0].aval.dtype == equation.invars[0].aval.dtype
    return places if is_same else None


def _reshaped(places: np.ndarray, equation: Any) -> np.ndarray | None:
    shape = equation.outvars[0].aval.shape
    if equation.params.get("dimensions") is not None and equation.primitive.name == "reshape":
        return None
    return places.reshape(shape) if all(isinstance(size, int) for size in shape) else None


_RULES: Mapping[str, Callable[[np.ndarray, Any], np.ndarray | None]] = {
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "squeeze": _reshaped,
    "reshape": _reshaped,
    "expand_dims": _reshaped,
    "copy": _same,
    "copy_p": _same,
    "convert_element_type": _same,
    "transpose": lambda places, equation: places.transpose(equation.params["permutation"]),
    "rev": lambda places, equation: np.flip(places, equation.params["dimensions"]),
}


# --- vectors made of elements of others -----------------------------------------------------------


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
