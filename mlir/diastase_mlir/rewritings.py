"""Rewritings of circuits, for whoever checks that they keep what a circuit does.

    passes on circuits    the jaxpr of a QNode's body before each, and after it
    re-rolling            the equations of a region, and those that stand for them
    tables                a run of gates as an equation, and as lines of text (`quantum.run`)

In: the rewritings, where they happen. Out: to the watcher, if there is one; what only it needs to
see, as a module read back after each pass, is made for it alone.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jax.extend.core import ClosedJaxpr


@dataclass(frozen=True)
class Equations:
    """Equations of a jaxpr, and what is read of them; what they do not define are its inputs."""

    equations: Sequence[Any]
    results: Sequence[Any]


@dataclass(frozen=True)
class Rewriting:
    """Equations in the place of others, which have the same inputs."""

    name: str
    before: Equations
    after: Equations
    known: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    """Inputs whose values the rewriting was told."""
    related: Mapping[Any, tuple[Any, bool]] = field(default_factory=dict[Any, tuple[Any, bool]])
    """Inputs that are equal to another one, or, if so it says, to its opposite."""
    tolerance: float = 0.0
    """How far each gate may be from the one that it was, where a pass approximates."""
    wires: int | None = None
    """How many the circuit has of the user's, if known; passes add some in |0> after these."""


@dataclass(frozen=True)
class Table:
    """A run of gates as lines."""

    gates: Sequence[Any]
    """Their equations."""
    places: Any
    """Where their parameters are in the operands of the run (`rerolling.Places`)."""
    sizes: Sequence[int]
    """How many elements each operand has; lines number these together."""
    lines: Sequence[str]


Watcher = Callable[[Rewriting | Table], None]


class _Watched:
    watcher: Watcher | None = None


@contextmanager
def watching(watcher: Watcher) -> Generator[None]:
    """Tell this watcher inside, and no other one."""
    before, _Watched.watcher = _Watched.watcher, watcher
    try:
        yield
    finally:
        _Watched.watcher = before


def is_watched() -> bool:
    """Whether anybody wants to know."""
    return _Watched.watcher is not None


def tell(rewriting: Rewriting | Table) -> None:
    """Say what has been rewritten."""
    if _Watched.watcher is not None:
        _Watched.watcher(rewriting)


def tell_of_bodies(name: str, before: ClosedJaxpr, after: ClosedJaxpr, **about: Any) -> None:
    """The same of a jaxpr in the place of another; `about` are fields of the rewriting."""
    if not is_watched():
        return
    known = {**about.pop("known", {})}
    for each in (before, after):
        known.update(zip(each.jaxpr.constvars, each.consts, strict=True))
    one, other = (Equations(each.jaxpr.eqns, each.jaxpr.outvars) for each in (before, after))
    tell(Rewriting(name, one, other, known, **about))
