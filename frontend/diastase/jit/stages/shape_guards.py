"""The sizes that a program serves: whether those of a call fit, and if not, why.

In: the types that a program was traced for, with symbols in their shapes. The arrays of a call are
known to have their ranks and dtypes; a `SizePattern` compares the sizes. A symbol stands for any
size from 0, the same one everywhere; an expression (`2*m`) for the sizes that it can have.
"""

from collections.abc import Sequence
from typing import Any

from diastase.dynamic_shapes.symbols import AxisSize, axis_sizes
from diastase_mlir.jax_compat import evaluate_dimension, is_symbolic, symbol_of


class SizePattern:
    """The sizes of all axes of a program's arguments."""

    def __init__(self, avals: Sequence[Any]) -> None:
        self._numbers: list[tuple[int, int, int]] = []
        self._symbols: list[tuple[int, int, str]] = []
        self._expressions: list[AxisSize] = []
        for axis in axis_sizes(avals):
            name = symbol_of(axis.size) if is_symbolic(axis.size) else None
            if name is not None:
                self._symbols.append((axis.argument, axis.axis, name))
            elif is_symbolic(axis.size):
                self._expressions.append(axis)
            else:
                self._numbers.append((axis.argument, axis.axis, axis.size))

    def fits(self, shapes: Sequence[Sequence[int]]) -> bool:
        """Whether a program for this pattern serves arrays of these shapes."""
        for argument, axis, size in self._numbers:
            if shapes[argument][axis] != size:
                return False
        values: dict[str, int] = {}
        for argument, axis, name in self._symbols:
            size = shapes[argument][axis]
            if values.setdefault(name, size) != size:
                return False
        return all(_solve(axis, shapes, values) for axis in self._expressions)

    def difference(self, shapes: Sequence[Sequence[int]]) -> tuple[int, str] | None:
        """The first argument whose symbolic sizes do not fit, and why not; None if all do."""
        values: dict[str, int] = {}
        for argument, axis, name in self._symbols:
            size = shapes[argument][axis]
            if values.setdefault(name, size) != size:
                return argument, f"{name} is {values[name]}"
        for axis in self._expressions:
            if not _solve(axis, shapes, values):
                size = shapes[axis.argument][axis.axis]
                if axis.symbol is not None:
                    return axis.argument, f"no {axis.symbol} makes {axis.size} equal to {size}"
                return axis.argument, f"{axis.size} is {evaluate_dimension(axis.size, values)}"
        return None


def _solve(axis: AxisSize, shapes: Sequence[Sequence[int]], values: dict[str, int]) -> bool:
    """Whether a size is one that an expression can have; notes the symbol's value, if it is new."""
    size = shapes[axis.argument][axis.axis]
    if axis.symbol is None:
        return size == evaluate_dimension(axis.size, values)
    rest = evaluate_dimension(axis.rest, values) if is_symbolic(axis.rest) else axis.rest
    value, remainder = divmod(size - rest, axis.factor)
    values[axis.symbol] = value
    return remainder == 0 and value >= 0
