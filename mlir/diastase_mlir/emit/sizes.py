"""Arithmetic of sizes, which are numbers where known; only the rest is emitted."""

from collections.abc import Sequence
from functools import reduce

from diastase_mlir.emit.operations import index_binary
from diastase_mlir.emit.tensors import Size, as_index


def product(sizes: Sequence[Size]) -> Size:
    """How many elements there are."""
    return reduce(times, sizes, 1)


def times(left: Size, right: Size) -> Size:
    """A product of sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 1 or right == 1:
        return right if left == 1 else left
    return index_binary("muli", as_index(left), as_index(right))


def plus(left: Size, right: Size) -> Size:
    """A sum of sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return index_binary("addi", as_index(left), as_index(right))


def smaller(left: Size, right: Size) -> Size:
    """The minimum of two sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    return index_binary("minsi", as_index(left), as_index(right))


def larger(left: Size, right: Size) -> Size:
    """The maximum of two sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    return index_binary("maxsi", as_index(left), as_index(right))
