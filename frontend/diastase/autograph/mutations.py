"""Changes to lists, dictionaries, sets and objects that a function can reach, found afterwards.

`contents_of` notes what they hold, starting from the variables that the function closes over and
the globals that it names; restoring is part of finding: `first_change` puts everything back and
says what was different, in the user's words.

Modules, classes and objects of libraries are not looked into.
"""

import dis
import types
from collections import deque
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from malt.operators.variables import Undefined

from diastase.autograph.errors import UnseenChangesError
from diastase.autograph.items import ItemIterator
from diastase.autograph.selection import is_excluded, is_of_user_class
from diastase.autograph.switches import warn_or_refuse
from diastase_mlir.diagnostics import user_span

_LIMIT = 100_000
"""How many objects are looked at, the nearest first."""

_Contents = list[tuple[str, Any, Any]]


def contents_of(function: Any, own: tuple[Any, ...]) -> _Contents:
    """What everything holds that a function may change: name, object, and a copy of its parts.

    Lists and dictionaries in `own` are its own, to be changed, as are variables that it assigns:
    those that are used elsewhere are in `own`, too.
    """
    seen = {id(part) for value in own for part in _containers(value)}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    assigned = _assigned(function.__code__)
    seen.update(id(cell) for name, cell in cells if name in assigned)
    found: _Contents = []
    pending: deque[tuple[str, Any]] = deque([("", function)])
    while pending:
        if len(seen) >= _LIMIT:
            error = UnseenChangesError(limit=_LIMIT, span=user_span())
            warn_or_refuse(error, error.message.format(**vars(error)), error.span)
            break
        name, value = pending.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        held = _held(value)
        if held is not None:
            found.append((name, value, held))
        pending += _parts(name, value)
    return found


def _containers(value: Any) -> Iterator[Any]:
    if type(value) in (list, tuple, dict):
        yield value
        for part in value.values() if type(value) is dict else value:
            yield from _containers(part)


def first_change(contents: _Contents) -> str | None:
    """Put back what was there; the name of something that was changed."""
    changed = None
    for name, value, before in contents:
        if _is_changed(value, before):
            _put_back(value, before)
            changed = changed or name
    return changed


@lru_cache(1024)
def _assigned(code: types.CodeType) -> frozenset[str]:
    """The variables of functions around it that code assigns, with what conversion put into it."""
    names = {
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("STORE_DEREF", "DELETE_DEREF")
    }
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    own = (part for part in inner if part.co_qualname == code.co_qualname)
    return frozenset(names).union(*map(_assigned, own))


def _held(value: Any) -> Any:
    match value:
        case types.CellType():
            return _content(value)
        case list() | dict() | set() if type(value) in (list, dict, set):
            return value.copy()
        case _ if _is_of_user(value):
            return dict(vars(value))
        case _:
            return None


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case types.FunctionType():
            cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
            yield from cells
            yield from _globals(value.__code__, value.__globals__)
        case types.MethodType():
            yield name, value.__self__
            yield name, value.__func__
        case partial():
            yield from ((name, part) for part in (value.func, *value.args))
        case types.CellType():
            yield name, _content(value)
        case list() | tuple() | set() if type(value) in (list, tuple, set):
            yield from ((name, part) for part in value if not isinstance(part, int | float | str))
        case dict() if type(value) is dict:
            yield from ((f"{name}[{key!r}]", part) for key, part in value.items())
        case _ if _is_of_user(value):
            yield from ((f"{name}.{key}", part) for key, part in vars(value).items())
        case _:
            pass


def _globals(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The containers among the globals that code names, and the user's functions."""
    for name in code.co_names:
        value = namespace.get(name)
        if type(value) in (list, dict, set) or isinstance(value, types.FunctionType):
            if not isinstance(value, types.FunctionType) or not is_excluded(value):
                yield name, value
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals(constant, namespace)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _is_of_user(value: Any) -> bool:
    """Whether an object is of a class of the user's, with attributes that can be changed."""
    if isinstance(value, ItemIterator):
        return True
    return type(getattr(value, "__dict__", None)) is dict and is_of_user_class(value)


def _is_changed(value: Any, before: Any) -> bool:
    match value:
        case types.CellType():
            return _content(value) is not before
        case list():
            return len(value) != len(before) or any(map(_differ, value, before))
        case set():
            return value != before
        case dict():
            return _changed_items(value, before)
        case _:
            return _changed_items(vars(value), before)


def _changed_items(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    now = {key: part for key, part in now.items() if not isinstance(part, Undefined)}
    return now.keys() != before.keys() or any(_differ(now[key], before[key]) for key in before)


def _differ(first: Any, other: Any) -> bool:
    return first is not other


def _put_back(value: Any, before: Any) -> None:
    match value:
        case types.CellType() if before is not _EMPTY:
            value.cell_contents = before
        case list():
            value[:] = before
        case dict() | set():
            value.clear()
            value.update(before)
        case types.CellType():
            del value.cell_contents
        case _:
            vars(value).clear()
            vars(value).update(before)


_EMPTY = object()
