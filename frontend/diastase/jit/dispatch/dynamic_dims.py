"""Calls that differ in sizes only, and the programs that serve them: a `Family`.

With `dynamic_dims="auto"` a family learns which sizes change. The first call compiles for its own
sizes. A call that no program fits gives symbols to the axes whose sizes have changed: axes that
had the same size, and have again, share one. So each compilation makes sizes dynamic that were
not, or separates some that were equal so far, and there are no more of them than axes.

    f(x[3], y[3])    x: 3, y: 3
    f(x[4], y[4])    x: d0, y: d0
    f(x[4], y[9])    x: d0, y: d1

Not every function can be traced for unknown sizes. Where that fails, further attempts know more of
the sizes, up to all of them; what failed is remembered and not tried again.

The trap: what a call compiles depends on the calls before it, so those of one family that compile
do so one after the other.
"""

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.core import ShapedArray

from diastase.jit.stages.argument_checks import SizePattern
from diastase_mlir.jax_compat import SizeScope, is_symbolic
from diastase_runtime.errors import InternalError

Labels = tuple[tuple[int | str, ...], ...]
"""For each axis of each argument its size, or what stands for it."""
Axis = tuple[int, int]
Avals = tuple[ShapedArray, ...]


@dataclass
class Family:
    """The programs of one function for arguments that differ in sizes only."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    _programs: list[tuple[SizePattern, Any]] = field(default_factory=list)
    """Those of dynamic sizes, each with the sizes that it serves."""
    _learnt: "_Learnt | None" = None

    def find(self, shapes: Sequence[Sequence[int]]) -> Any | None:
        """A program of dynamic sizes that serves these."""
        for pattern, compiled in self._programs:
            if pattern.fits(shapes):
                return compiled
        return None

    def add(self, compiled: Any) -> None:
        """Note a program, if it is one of dynamic sizes."""
        avals = compiled.traced.in_avals
        if any(is_symbolic(size) for aval in avals for size in aval.shape):
            self._programs.append((SizePattern(avals), compiled))

    def learn(
        self,
        avals: Avals,
        compile_for: Callable[[Avals], Any],
        report: Callable[[str], None],
    ) -> Any:
        """Compile for arguments of these types, which no program serves so far."""
        given = _labels_of(avals)
        before = self._learnt or _Learnt(given)
        learnt = before.with_call(given)
        for attempt in learnt.attempts(given, before.labels):
            if attempt == given:
                break
            if attempt in learnt.failed:
                continue
            try:
                compiled = compile_for(_with_symbols(avals, attempt))
            except InternalError:
                raise
            except Exception as error:
                learnt.failed.add(attempt)
                report(f"sizes {attempt} cannot be dynamic: {error}")
            else:
                self._learnt = learnt
                return compiled
        compiled = compile_for(avals)
        self._learnt = learnt  # not before: from a call that is wrong nothing is learnt
        return compiled


class NotForTheseSizes(Exception):
    """A program of dynamic sizes cannot be made for the sizes at hand."""


@dataclass
class FallingBack:
    """A call of programs of dynamic sizes; of static ones where there can be no other."""

    dynamic: Any
    """An `AssumedCall`, which raises `NotForTheseSizes`."""
    compile_static: Callable[[Sequence[Any]], Any]
    _static: dict[Any, Any] = field(default_factory=dict)
    """By shapes: what is compiled for them alone."""

    @property
    def executable(self) -> Any:
        """The loaded program of dynamic sizes."""
        return self.dynamic.executable

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program for these sizes."""
        if self._static:
            static = self._static.get(_shapes(leaves))
            if static is not None:
                return static(leaves)
        try:
            return self.dynamic(leaves)
        except NotForTheseSizes:
            pass
        static = self._static.setdefault(_shapes(leaves), self.compile_static(leaves))
        return static(leaves)


def _shapes(leaves: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
    return tuple(np.shape(leaf) for leaf in leaves)


@dataclass
class _Learnt:
    """What the calls of a family so far have in common."""

    labels: Labels
    fixed: Set[Axis] = frozenset()
    """Axes that cannot be dynamic."""
    failed: set[Labels] = field(default_factory=set)
    """What could not be traced."""

    def with_call(self, given: Labels) -> "_Learnt":
        """What is known after one more call."""
        return _Learnt(_merged(self.labels, given), self.fixed, set(self.failed))

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


def _labels_of(avals: Avals) -> Labels:
    return tuple(
        tuple(str(size) if is_symbolic(size) else size for size in aval.shape) for aval in avals
    )


def _with_symbols(avals: Avals, labels: Labels) -> Avals:
    """The types with symbols where the labels have names."""
    scope = SizeScope()

    def size(given: Any, label: int | str) -> Any:
        return given if is_symbolic(given) or isinstance(label, int) else scope.symbol(label)

    return tuple(
        aval.update(shape=tuple(map(size, aval.shape, shape)))
        for aval, shape in zip(avals, labels, strict=True)
    )
