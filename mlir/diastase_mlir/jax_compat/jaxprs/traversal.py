"""The one traversal of equations and parameters at any depth, and what equations depend on.

Everything that asks something of all equations of a program, or changes the jaxprs of one of them,
goes through here. What counts differently at each level (costs, which multiply by turns; lengths,
of which branches have the largest; what is known in a region only) takes `jaxprs_in` and recurs.

`needed_equations` is dead code elimination; `settled` is the fixed point of a loop.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

_JAXPRS = (ClosedJaxpr, Jaxpr)
_PLAIN = frozenset({bool, int, float, str, type(None)})
"""What most parameters are: programs have thousands of equations without a jaxpr in them."""


def is_jaxpr(value: Any) -> bool:
    """Whether a value is a jaxpr, closed or open."""
    return isinstance(value, _JAXPRS)


def jaxprs_in(parameters: Any) -> list[Jaxpr]:
    """The jaxprs among an equation's parameters, or in one of them, without their constants.

    In tuples and lists at any depth; those inside of a jaxpr are not among them.
    """
    found = _found([parameters], [])
    return [jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr for jaxpr in found]


def closed_jaxprs_in(parameters: Any) -> list[ClosedJaxpr]:
    """Those among them that are closed, as regions of ours are, with their constants."""
    return [jaxpr for jaxpr in _found([parameters], []) if isinstance(jaxpr, ClosedJaxpr)]


def _found(values: Iterable[Any], found: list[Any]) -> list[Any]:
    for value in values:
        if type(value) in _PLAIN:
            continue
        if isinstance(value, _JAXPRS):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            _found(value, found)
        elif isinstance(value, dict):
            _found(value.values(), found)
    return found


def _always(_: Any) -> bool:
    return True


def equations_in(within: Any, enters: Callable[[Any], bool] = _always) -> Iterator[Any]:
    """All equations of a jaxpr, or of those among parameters, at any depth, in their order.

    Each comes before those inside of it; `enters` says which equations are looked into.
    """
    levels = [_equations_of_these(jaxprs_in(within))]  # no recursion: each would go through all
    while levels:
        for equation in levels[-1]:
            yield equation
            inside = jaxprs_in(equation.params) if enters(equation) else []
            if inside:
                levels.append(_equations_of_these(inside))
                break
        else:
            levels.pop()


def _equations_of_these(jaxprs: Iterable[Jaxpr]) -> Iterator[Any]:
    return chain.from_iterable(jaxpr.eqns for jaxpr in jaxprs)


def equations_of(equation: Any, enters: Callable[[Any], bool] = _always) -> Iterator[Any]:
    """An equation, and all inside of it."""
    yield equation
    if enters(equation):
        yield from equations_in(equation.params, enters)


def variables_in(within: Any) -> Iterator[Any]:
    """All variables that a jaxpr, or those among parameters, define, at any depth."""
    for jaxpr in jaxprs_in(within):
        yield from jaxpr.invars
        for equation in jaxpr.eqns:
            yield from equation.outvars
            yield from variables_in(equation.params)


def with_jaxprs(parameters: Any, change: Callable[[Any], Any]) -> Any:
    """Parameters with each closed jaxpr among them changed; the very same if none is another."""
    if not _found([parameters], []):
        return parameters
    if isinstance(parameters, ClosedJaxpr):
        return change(parameters)
    if isinstance(parameters, dict):
        values = {name: with_jaxprs(value, change) for name, value in parameters.items()}
        same = all(values[name] is value for name, value in parameters.items())
        return parameters if same else values
    if isinstance(parameters, tuple | list):
        parts = [with_jaxprs(part, change) for part in parameters]
        same = all(new is old for new, old in zip(parts, parameters, strict=True))
        if same:
            return parameters
        is_named = isinstance(parameters, tuple) and hasattr(parameters, "_fields")
        return type(parameters)(*parts) if is_named else type(parameters)(parts)
    return parameters


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
