"""Which element of which array an element of an array is, where an equation only moves elements.

    b = slice[start_indices=(3, 0), strides=(1, 2)] a     b[i, j] = a[3 + i, 2 j]
    c = transpose[permutation=(1, 0)] b                   c[i, j] = b[j, i]

Slices and dropped axes, of which indexing in Python makes long chains, are followed for a whole
array at once (`Part`); the others (`moved`) for one position, known now. All of it is about arrays
of known sizes but for what is asked of no size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Position = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Part of an array, as the array's positions."""

    root: Any
    start: Position
    steps: Position
    axes: tuple[int, ...]
    """The root's axes that are left, in order."""

    def at(self, position: Any) -> Any:
        """Where in the root an element is; or elements, by an array of numbers for each axis."""
        if not self.axes:
            return self.start
        place = list(self.start)
        for axis, number in zip(self.axes, position, strict=True):
            place[axis] = place[axis] + number * self.steps[axis]
        return tuple(place)

    def places(self, shape: Sequence[int]) -> np.ndarray:
        """Where in the root all elements are, in order; both with all axes as one."""
        if not self.start:
            return np.zeros(1, int)
        positions: Any = np.broadcast_arrays(*self.at(tuple(np.indices(shape))))
        return np.ravel(np.ravel_multi_index(positions, self.root.aval.shape))


def whole(variable: Any) -> Part:
    """All of an array."""
    rank = len(getattr(variable.aval, "shape", ()))
    return Part(variable, (0,) * rank, (1,) * rank, tuple(range(rank)))


def is_view(equation: Any) -> bool:
    """Whether an equation gives a `Part` of its operand."""
    operand = equation.invars[0] if equation.primitive.name in ("slice", "squeeze") else None
    return operand is not None and not hasattr(operand, "val") and _is_known(operand)


def viewed(part: Part, equation: Any) -> Part:
    """What such an equation leaves of a part."""
    params = equation.params
    if equation.primitive.name == "squeeze":
        dropped = params["dimensions"]
        kept = tuple(axis for place, axis in enumerate(part.axes) if place not in dropped)
        return Part(part.root, part.start, part.steps, kept)
    start, steps = list(part.start), list(part.steps)
    strides = params["strides"] or (1,) * len(part.axes)
    for axis, first, stride in zip(part.axes, params["start_indices"], strides, strict=True):
        start[axis] += first * steps[axis]
        steps[axis] *= stride
    return Part(part.root, tuple(start), tuple(steps), part.axes)


def is_repeated(shape: Sequence[Any], result: Sequence[Any]) -> bool:
    """Whether a number, or an array with axes of size 1 for others, can have the result's shape."""
    if shape == () or shape == result:
        return True
    return len(shape) == len(result) and all(
        isinstance(size, int) and size in (1, wanted)
        for size, wanted in zip(shape, result, strict=True)
    )


def repeated(shape: Sequence[Any], position: Position) -> Position:
    """The position in such an array of an element of the result."""
    if 1 not in shape:
        return position
    return tuple(0 if size == 1 else number for size, number in zip(shape, position, strict=True))


MOVES = frozenset("broadcast_in_dim concatenate expand_dims reshape rev stack transpose".split())
"""Primitives whose results `moved` sees through, if all sizes are known."""


def is_move(equation: Any) -> bool:
    """Whether `moved` knows where an equation has its elements from."""
    name = equation.primitive.name
    return (
        name in MOVES
        and all(map(_is_known, [*equation.invars, *equation.outvars]))
        and not (name == "reshape" and equation.params["dimensions"] is not None)
    )


def moved(equation: Any, position: Position) -> tuple[Any, Position]:
    """The operand that has an element of the result, and where; the equation is a move."""
    name, params = equation.primitive.name, equation.params
    operand = equation.invars[0]
    shape = operand.aval.shape
    if name == "concatenate":
        return _of_concatenated(equation, position)
    if name == "stack":
        axis = params["axis"]
        return equation.invars[position[axis]], position[:axis] + position[axis + 1 :]
    if name == "broadcast_in_dim":
        return operand, repeated(shape, tuple(position[a] for a in params["broadcast_dimensions"]))
    if name == "transpose":
        place = dict(zip(params["permutation"], position, strict=True))
        return operand, tuple(place[axis] for axis in range(len(shape)))
    if name == "rev":
        turned = params["dimensions"]
        return operand, tuple(
            size - 1 - number if axis in turned else number
            for axis, (size, number) in enumerate(zip(shape, position, strict=True))
        )
    number = 0
    for size, index in zip(equation.outvars[0].aval.shape, position, strict=True):
        number = number * size + index
    place = []
    for size in reversed(shape):
        number, index = divmod(number, size)
        place.append(index)
    return operand, tuple(reversed(place))


def _of_concatenated(equation: Any, position: Position) -> tuple[Any, Position]:
    axis = equation.params["dimension"]
    left = position[axis]
    for operand in equation.invars:
        size = operand.aval.shape[axis]
        if left < size:
            return operand, (*position[:axis], left, *position[axis + 1 :])
        left -= size
    raise AssertionError("a position beyond what is concatenated")


def _is_known(atom: Any) -> bool:
    return all(isinstance(size, int) for size in getattr(atom.aval, "shape", (None,)))
