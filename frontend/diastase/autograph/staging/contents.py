"""What lists, objects, classes and variables hold: noted, compared and put back."""

import types
from dataclasses import dataclass
from typing import Any

from malt.operators.variables import Undefined

from diastase.autograph.staging.items import ItemIterator
from diastase.autograph.staging.selection import is_excluded, is_of_user_class, slots_of

_EMPTY = object()


@dataclass
class GlobalVariable:
    """A variable of a module, as a cell is one of a function."""

    namespace: dict[str, Any]
    name: str

    @property
    def cell_contents(self) -> Any:
        """What it holds; as of cells, a ValueError if that is nothing."""
        if self.name not in self.namespace:
            raise ValueError(self.name)
        return self.namespace[self.name]

    @cell_contents.setter
    def cell_contents(self, value: Any) -> None:
        self.namespace[self.name] = value

    @cell_contents.deleter
    def cell_contents(self) -> None:
        self.namespace.pop(self.name, None)


def held(value: Any) -> Any:
    """A copy of what it holds; None if it holds nothing that can be changed."""
    match value:
        case types.CellType() | GlobalVariable():
            return content_of(value)
        case list() | dict() | set() if type(value) in (list, dict, set):
            return value.copy()
        case type() if not is_excluded(value):
            return _class_attributes(value)
        case _ if is_of_user(value):
            return own_attributes(value)
        case _:
            return None


def content_of(cell: types.CellType | GlobalVariable) -> Any:
    """What a variable holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def is_of_user(value: Any) -> bool:
    """Whether an object is of a class of the user's, with attributes that can be changed."""
    if isinstance(value, ItemIterator):
        return True
    if type(getattr(value, "__dict__", None)) is not dict and not slots_of(type(value)):
        return False
    return is_of_user_class(value)


def own_attributes(value: Any) -> dict[str, Any]:
    """Those of the object itself; of slots, those that have a value."""
    slots = {name: getattr(value, name, _EMPTY) for name in slots_of(type(value))}
    filled = {name: part for name, part in slots.items() if part is not _EMPTY}
    return {**getattr(value, "__dict__", {}), **filled}


def _class_attributes(kind: type) -> dict[str, Any]:
    """Without those that Python makes when they are first asked for (`__annotations__`)."""
    return {name: part for name, part in vars(kind).items() if not name.startswith("__")}


def is_changed(value: Any, before: Any) -> bool:
    """Whether it holds something else than before."""
    match value:
        case types.CellType() | GlobalVariable():
            return content_of(value) is not before
        case list() if type(value) is list:
            return len(value) != len(before) or any(map(_differ, value, before))
        case set() if type(value) is set:
            return value != before
        case dict() if type(value) is dict:
            return _changed_items(value, before)
        case type():
            return _changed_items(_class_attributes(value), before)
        case _:
            return _changed_items(own_attributes(value), before)


def _changed_items(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    now = {key: part for key, part in now.items() if not isinstance(part, Undefined)}
    return now.keys() != before.keys() or any(_differ(now[key], before[key]) for key in before)


def _differ(first: Any, other: Any) -> bool:
    return first is not other


def put_back(value: Any, before: Any) -> None:
    """Let it hold again what it held before."""
    match value:
        case types.CellType() | GlobalVariable():
            if before is _EMPTY:
                del value.cell_contents
            else:
                value.cell_contents = before
        case list() if type(value) is list:
            value[:] = before
        case dict() | set() if type(value) in (dict, set):
            value.clear()
            value.update(before)
        case type():
            _put_attributes_back(value, type, _class_attributes(value), before)
        case _:
            _put_attributes_back(value, object, own_attributes(value), before)


def _put_attributes_back(
    value: Any, kind: Any, now: dict[str, Any], before: dict[str, Any]
) -> None:
    """Set and delete as `kind` does: not as a class of the user's may have it."""
    for name in now.keys() | before.keys():
        old = before.get(name, _EMPTY)
        if now.get(name, _EMPTY) is old:
            continue
        if old is _EMPTY:
            kind.__delattr__(value, name)
        else:
            kind.__setattr__(value, name, old)
