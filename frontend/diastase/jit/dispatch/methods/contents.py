"""What a value consists of: what makes it differ from others of its type, and its parts.

In: a value of any type. Out: something to compare it by (an array, a tree, an object's identity;
None where its parts say all), and the parts to go on with. Containers and dataclasses are their
items and fields, objects of the user's classes also their attributes; a JAX array, a QNode, a
device are what they are.
"""

import dataclasses
import weakref
from collections import deque
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from diastase.autograph.staging.selection import is_of_user_class, slots_of

ABSENT = object()
"""The value of an attribute that is not there."""

PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
_BARE = PLAIN | {list, tuple, dict, set, frozenset, np.ndarray}
"""Types whose objects have no attributes that could be set."""
_LEAF = jax.tree_util.tree_structure(0)


def own_and_parts(value: Any) -> tuple[Any, Sequence[Any]]:
    """What to compare a value by, apart from its parts; and these."""
    own, parts = _content(value)
    may_have_more = own is None or isinstance(value, np.ndarray) or is_of_user_class(value)
    if type(value) in _BARE or not may_have_more:
        return own, parts
    attributes = attributes_of(value)
    return own, [*parts, *attributes, *attributes.values()]


def _content(value: Any) -> tuple[Any, Sequence[Any]]:
    """What makes a value differ from others of its type, attributes apart."""
    match value:
        case list() | tuple():
            return None, value
        case dict():
            return None, [*value, *value.values()]
        case set() | frozenset() | deque():
            return None, list(value)
        case np.ndarray() | np.generic():
            array = np.asarray(value)
            if not array.dtype.hasobject:
                return array, ()
            return None, [array.dtype, *array.shape, *array.ravel().tolist()]
        case SimpleNamespace():
            return None, ()
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return None, ()
        case _ if is_of_user_class(value):
            return _identity(value), ()
        case _:
            leaves, tree = _flat(value)
            return (_identity(value), ()) if tree == _LEAF else (tree, leaves)


def _flat(value: Any) -> tuple[list[Any], Any]:
    try:
        return jax.tree_util.tree_flatten(value)
    except (TypeError, ValueError):  # keys of a dictionary in it that cannot be sorted
        return [value], _LEAF


def attributes_of(value: Any) -> dict[str, Any]:
    """An object's data by name, its class's included; none of what the class computes."""
    found: dict[str, Any] = {}
    for kind in reversed(type(value).__mro__[:-1]):
        for name, item in vars(kind).items():
            if not (hasattr(type(item), "__get__") or name.startswith("__")):
                found[name] = item
    for name in slots_of(type(value)):
        found[name] = getattr(value, name, ABSENT)
    found.update(stored_in(value))
    return found


def stored_in(value: Any) -> dict[str, Any]:
    """An object's own `__dict__`, empty if it has none."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}


def _identity(value: Any) -> Any:
    """Something that is the same for one object only, while it lives.

    An object of the user's that cannot be referred to weakly has all that it is in `__slots__`.
    """
    try:
        return weakref.ref(value)
    except TypeError:
        return None if slots_of(type(value)) else value
