"""Static arguments, whose values are part of a program: taken out of a call, and told apart.

A negative position counts from the end of the call's arguments.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

Static = tuple[tuple[int | str, Any], ...]
"""Values of static arguments, by position or name, in this order."""


def split(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    positions: Sequence[int],
    names: Collection[str],
) -> tuple[tuple[Any, ...], dict[str, Any], Static]:
    """The traced arguments of a call by position and by name, and the static ones."""
    count = len(args)
    wanted = {p + count if p < 0 else p for p in positions}
    static: list[tuple[int | str, Any]] = [(p, args[p]) for p in sorted(wanted) if 0 <= p < count]
    static += [(k, kwargs[k]) for k in sorted(set(names) & kwargs.keys())]
    dynamic = tuple(value for p, value in enumerate(args) if p not in wanted)
    keywords = {k: value for k, value in kwargs.items() if k not in names}
    return dynamic, keywords, tuple(static)


def typed_key(value: Any) -> Hashable:
    """Make a key under which `1`, `1.0` and `True` differ, also inside of tuples and frozensets.

    So do `0.0` and `-0.0`.
    """
    if type(value) is tuple:
        return (tuple, *map(typed_key, value))
    if type(value) is frozenset:
        return (frozenset, frozenset(map(typed_key, value)))
    if isinstance(value, float | complex):
        return (type(value), repr(value))
    return (type(value), value)
