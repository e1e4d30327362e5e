"""What results of a jaxpr need, and what holds after any number of turns of a loop."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from jax.extend.core import Literal

T = TypeVar("T")
R = TypeVar("R")


def needed_equations(
    equations: Sequence[Any], results: Iterable[Any], keeps: Callable[[Any], bool]
) -> tuple[list[Any], set[Any]]:
    """The equations that these results are computed by, and all variables that are read then.

    `keeps`: which equations stay, whoever reads their results.
    """
    live = {atom for atom in results if not isinstance(atom, Literal)}
    kept: list[Any] = []
    for equation in reversed(equations):
        if not live.isdisjoint(equation.outvars) or keeps(equation):
            live.update([atom for atom in equation.invars if not isinstance(atom, Literal)])
            kept.append(equation)
    return kept[::-1], live


def settled(start: T, turn: Callable[[T], tuple[T, R]]) -> tuple[T, R]:
    """What is carried after any number of turns, and what the last turn was made into.

    `turn` gives what is carried after it, which must not get less, and whatever it has made.
    """
    while True:
        after, made = turn(start)
        if after == start:
            return start, made
        start = after
