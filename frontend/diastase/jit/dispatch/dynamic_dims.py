"""`dynamic_dims="auto"`: which sizes change is learnt from the calls.

In: the sizes of one call after another. Out: the types to compile for, best first. The first call
is compiled for its own sizes. A later one gives symbols to the axes whose sizes have changed: axes
that had the same size, and have again, share one. So each compilation makes sizes dynamic that were
not, or separates some that were equal so far, and there are no more of them than axes.

    f(x[3], y[3])    x: 3, y: 3
    f(x[4], y[4])    x: d0, y: d0
    f(x[4], y[9])    x: d0, y: d1

Not every function can be traced for unknown sizes. Where that fails, further attempts know more of
the sizes, up to all of them; what failed is remembered and not tried again.
"""

import itertools
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from typing import Any

from jax.core import ShapedArray

from diastase_mlir.jax_compat import SizeScope, is_symbolic

Labels = tuple[tuple[int | str, ...], ...]
"""For each axis of each argument its size, or what stands for it."""
Axis = tuple[int, int]
Avals = tuple[ShapedArray, ...]


@dataclass
class Learnt:
    """What the calls of a family so far have in common."""

    labels: Labels
    fixed: Set[Axis] = frozenset()
    """Axes that cannot be dynamic."""
    failed: set[Labels] = field(default_factory=set)
    """What could not be traced."""

    def with_call(self, given: Labels) -> "Learnt":
        """What is known after one more call."""
        return Learnt(_merged(self.labels, given), self.fixed, set(self.failed))

    def attempts(self, given: Labels, before: Labels) -> Iterator[Labels]:
        """What to compile a call for, the best first."""
        ones = {axis for axis, size, _ in _axes(given, given) if size == 1}
        changed = {
            axis
            for axis, was, now in _axes(before, self.labels)
            if isinstance(was, int) and isinstance(now, str)
        }
        yield _known(self.labels, given, self.fixed)
        yield _known(self.labels, given, self.fixed | ones)  # JAX broadcasts what is known to be 1
        yield _known(_shared(self.labels, given), given, self.fixed)
        self.fixed = self.fixed | changed
        yield _known(self.labels, given, self.fixed)
        yield given


def _axes(left: Labels, right: Labels) -> Iterator[tuple[Axis, Any, Any]]:
    for argument, (shape, other) in enumerate(zip(left, right, strict=True)):
        for axis, (size, other_size) in enumerate(zip(shape, other, strict=True)):
            yield (argument, axis), size, other_size


def _map(function: Callable[[Axis, Any, Any], int | str], left: Labels, right: Labels) -> Labels:
    new = {axis: function(axis, size, other) for axis, size, other in _axes(left, right)}
    return tuple(
        tuple(new[argument, axis] for axis in range(len(shape)))
        for argument, shape in enumerate(left)
    )


def _merged(before: Labels, given: Labels) -> Labels:
    """Sizes that are the same stay; others get a symbol for each pair of what was and what is."""
    symbols: dict[tuple[int | str, int | str], str] = {}
    used = {size for shape in (*before, *given) for size in shape if isinstance(size, str)}
    fresh = (name for name in map("d{}".format, itertools.count()) if name not in used)

    def label(_: Axis, was: int | str, is_: int | str) -> int | str:
        if was == is_:
            return was
        if (was, is_) not in symbols:
            taken = was in symbols.values() or isinstance(was, int)
            symbols[was, is_] = next(fresh) if taken else str(was)
        return symbols[was, is_]

    return _map(label, before, given)


def _known(labels: Labels, given: Labels, axes: Set[Axis]) -> Labels:
    """The labels, with the sizes given for these axes."""
    return _map(lambda axis, label, size: size if axis in axes else label, labels, given)


def _shared(labels: Labels, given: Labels) -> Labels:
    """One symbol for all axes of a size that is dynamic somewhere."""
    symbols: dict[int | str, str] = {}
    for _, label, size in _axes(labels, given):
        if isinstance(label, str):
            symbols.setdefault(size, label)

    def label(_: Axis, label: int | str, size: int | str) -> int | str:
        return symbols.get(size, label)

    return _map(label, labels, given)


def labels_of(avals: Avals) -> Labels:
    """The sizes of types, as far as they are known."""
    return tuple(
        tuple(str(size) if is_symbolic(size) else size for size in aval.shape) for aval in avals
    )


def with_symbols(avals: Avals, labels: Labels) -> Avals:
    """The types with symbols where the labels have names."""
    scope = SizeScope()

    def size(given: Any, label: int | str) -> Any:
        return given if is_symbolic(given) or isinstance(label, int) else scope.symbol(label)

    return tuple(
        aval.update(shape=tuple(map(size, aval.shape, shape)))
        for aval, shape in zip(avals, labels, strict=True)
    )
