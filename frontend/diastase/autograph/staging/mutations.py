"""Changes to lists, dictionaries, sets and objects that a function can reach, found afterwards.

`contents_of` notes what they hold, starting from the variables that the function closes over and
the globals that it names; restoring is part of finding: `first_change` puts everything back and
says what was different, in the user's words. Global variables are such objects where a function
that can be reached assigns them.

Modules, classes and objects of libraries are not looked into; of modules of the user's, what the
code that is looked at names.
"""

import dis
import types
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import Any

from diastase.autograph.staging.contents import (
    GlobalVariable,
    content_of,
    held,
    is_changed,
    is_of_user,
    own_attributes,
    put_back,
)
from diastase.autograph.staging.errors import UnseenChangesError, warn_or_refuse
from diastase.autograph.staging.selection import is_excluded
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
    assigned = _assigned_cells(function.__code__)
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
        copy = held(value)
        if copy is not None:
            found.append((name, value, copy))
        pending += _parts(name, value)
    return found


def _containers(value: Any) -> Iterator[Any]:
    if type(value) in (list, tuple, dict):
        yield value
        for part in value.values() if type(value) is dict else value:
            yield from _containers(part)


def is_shared(values: Iterable[Any], others: _Contents) -> bool:
    """Whether a list or dictionary has two places in values, or is among others, too."""
    found = [part for value in values for part in _containers(value) if type(part) is not tuple]
    own = set(map(id, found))
    return len(own) < len(found) or any(id(value) in own for _, value, _ in others)


def is_changed_in_place(value: Any, copy: Any) -> bool:
    """Whether lists and dictionaries in a value are no longer what they were when copied."""
    if type(value) is dict:
        return value.keys() != copy.keys() or is_changed_in_place(
            [*value.values()], [*copy.values()]
        )
    if type(value) in (list, tuple) and type(value) is type(copy):
        return len(value) != len(copy) or any(map(is_changed_in_place, value, copy))
    return value is not copy


def first_change(contents: _Contents) -> str | None:
    """Put back what was there; the name of something that was changed."""
    changed = None
    for name, value, before in contents:
        if is_changed(value, before):
            put_back(value, before)
            changed = changed or name
    return changed


@lru_cache(1024)
def _assigned_cells(code: types.CodeType) -> frozenset[str]:
    """The variables of functions around it that code assigns, with what conversion put into it."""
    names = _targets(code, "STORE_DEREF", "DELETE_DEREF")
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    own = (part for part in inner if part.co_qualname == code.co_qualname)
    return names.union(*map(_assigned_cells, own))


@lru_cache(4096)
def _targets(code: types.CodeType, *operations: str) -> frozenset[str]:
    instructions = dis.get_instructions(code)
    return frozenset(str(each.argval) for each in instructions if each.opname in operations)


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
            yield from (
                (name, part) for part in (value.func, *value.args, *value.keywords.values())
            )
        case types.CellType() | GlobalVariable():
            yield name, content_of(value)
        case list() | tuple() | set() if type(value) in (list, tuple, set):
            yield from ((name, part) for part in value if not isinstance(part, int | float | str))
        case dict() if type(value) is dict:
            yield from ((f"{name}[{key!r}]", part) for key, part in value.items())
        case type() if not is_excluded(value):
            yield from _parts_of_class(name, value)
        case _ if is_of_user(value):
            yield from ((f"{name}.{key}", part) for key, part in own_attributes(value).items())
            yield type(value).__name__, type(value)
        case _:
            pass


def _parts_of_class(name: str, value: type) -> Iterator[tuple[str, Any]]:
    for key, part in vars(value).items():
        function = getattr(part, "__func__", part)  # of a static method
        if _is_changeable(function):
            yield f"{name}.{key}", function


def _globals(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What code may change by the globals that it names, those of modules of the user's included.

    Of a module these are the ones that the code names, too: `settings.count += 1`.
    """
    for name in code.co_names:
        value = namespace.get(name)
        if isinstance(value, types.ModuleType) and not is_excluded(value):
            named = ((key, vars(value).get(key)) for key in code.co_names)
            yield from ((f"{name}.{key}", part) for key, part in named if _is_changeable(part))
            stored = _targets(code, "STORE_ATTR", "DELETE_ATTR")
            yield from ((f"{name}.{key}", GlobalVariable(vars(value), key)) for key in stored)
        elif _is_changeable(value):
            yield name, value
    for name in _targets(code, "STORE_GLOBAL", "DELETE_GLOBAL"):
        yield name, GlobalVariable(namespace, name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals(constant, namespace)


def _is_changeable(value: Any) -> bool:
    """Whether a value can be changed, or may change others when it is called."""
    if isinstance(value, types.FunctionType | type):
        return not is_excluded(value)
    return type(value) in (list, dict, set) or is_of_user(value)
