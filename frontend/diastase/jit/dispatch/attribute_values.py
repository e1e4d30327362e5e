"""What an attribute is at one moment, kept to be compared with what it is at later calls.

In: a value of any type, then and now. `own_and_parts` says what it consists of: something to
compare it by (an array, a tree, an object's identity; None where its parts say all), and the parts
to go on with. Containers, dataclasses and NumPy arrays are compared by what is in them, objects of
the user's classes by identity and by their attributes, so that a change in place is seen; anything
else (a JAX array, a QNode, a device) by identity alone. In doubt a value has changed: a new program
is right, too.

The trap: what is kept must not keep alive what it describes, since the programs of an object live
as long as the object does, which its own attributes may refer to.
"""

import dataclasses
import operator
import weakref
from collections import deque
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.tree_util import PyTreeDef

from diastase.autograph.staging.selection import is_of_user_class, slots_of
from diastase.jit.options.errors import DeepAttributeError
from diastase_runtime.calls.static_arguments import typed_key

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


_MOST_LEVELS = 100
_SHORT = 4096
"""Bytes of an array that are copied to be compared, which is quicker than two operations are."""


class Kept:
    """What a value was. Equal to itself only, so that it can be part of a key."""

    def __init__(self, name: str, value: Any, root: Any) -> None:
        self._name = name
        self._content = _Walk(name, root).keep(value)

    def is_still(self, value: Any, root: Any) -> bool:
        """Whether a value is now what the other was; references to `root` are not followed."""
        return _Walk(self._name, root).is_same(self._content, value)


class _Node(NamedTuple):
    """A value that is no plain one."""

    kind: type
    own: Any
    """What makes it differ from others besides its parts: an array, a tree, or by identity."""
    parts: tuple[Any, ...]
    is_flat: bool
    """All parts are plain values, which cannot change: they may be compared by identity."""


class _Again(NamedTuple):
    """A value that was met before, by its place in the order of the walk."""

    number: int


class _Walk:
    """Follows a value's parts; the same way when they are kept and when they are compared."""

    def __init__(self, name: str, root: Any) -> None:
        self._name, self._root = name, root
        self._seen = {id(root): (0, root)}
        self._levels = 0

    def keep(self, value: Any) -> Any:
        """Copy what a later value is to be compared with."""
        if type(value) in PLAIN:
            return value
        if (again := self._met(value)) is not None:
            return again
        own, parts = own_and_parts(value)
        if isinstance(own, np.ndarray):
            own = own.copy()
        self._descend()
        kept = tuple(map(self.keep, parts))
        self._levels -= 1
        return _Node(type(value), own, kept, PLAIN.issuperset(map(type, kept)))

    def is_same(self, kept: Any, value: Any) -> bool:
        """Whether keeping a value would give the same again."""
        if type(value) in PLAIN:
            return kept is value or _is_same_number(kept, value)
        if (again := self._met(value)) is not None:
            return type(kept) is _Again and kept == again
        if type(kept) is not _Node or kept.kind is not type(value):
            return False
        own, parts = own_and_parts(value)
        if len(parts) != len(kept.parts) or not _is_same_own(kept.own, own):
            return False
        if kept.is_flat and all(map(operator.is_, kept.parts, parts)):
            return True
        self._descend()
        same = all(map(self.is_same, kept.parts, parts))
        self._levels -= 1
        return same

    def _met(self, value: Any) -> _Again | None:
        """Number a value; it stays alive for as long as its `id` stands for it."""
        count = len(self._seen)
        number, _ = self._seen.setdefault(id(value), (count, value))
        return _Again(number) if number < count else None

    def _descend(self) -> None:
        self._levels += 1
        if self._levels > _MOST_LEVELS:
            owner = type(self._root).__qualname__
            raise DeepAttributeError(attribute=self._name, owner=owner, levels=_MOST_LEVELS)


def _is_same_own(kept: Any, now: Any) -> bool:
    if isinstance(kept, PyTreeDef):
        return isinstance(now, PyTreeDef) and kept == now
    if not isinstance(kept, np.ndarray):
        return kept is now
    if not isinstance(now, np.ndarray) or (kept.dtype, kept.shape) != (now.dtype, now.shape):
        return False
    if now.nbytes <= _SHORT:
        return kept.tobytes() == now.tobytes()
    return bool((_bits(kept) == _bits(now)).all())


def _bits(array: np.ndarray) -> np.ndarray:
    """An array as integers: equal ones are the same number, NaN and signs of zero included."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8 if flat.nbytes % 8 else np.uint64)


def _is_same_number(kept: Any, value: Any) -> bool:
    return type(kept) is type(value) and typed_key(kept) == typed_key(value)
