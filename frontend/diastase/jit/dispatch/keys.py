"""What of a call decides which program serves it: one key for each level of the cache.

    plans      by `call_key`, of the leaves of a call's pytree; `flat_key` is the same of arguments
               as they are given, in the least time
    families   by `family_key`, of the types of the leaves, sizes apart
    programs   by `program_key`, of their types
    embedded   (in programs of plain JAX) by that, and by the integers that are constants there

In each stands what is no argument, too: JAX's settings, the pytree, static values (among which is
what a method has read of its object). Programs on disk are found by `diastase_mlir.program_keys`.

The settings are a tuple of some fifty, whose hash takes as long as all else. They rarely change,
so in the keys of calls one object stands for those that are equal.
"""

import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from jax.core import ShapedArray

from diastase.tracing.signatures import Call, Signature
from diastase_mlir.jax_compat import ArrayImpl, abstract_value, is_symbolic, trace_context

_LEAF_KEYS: dict[type, Callable[[Any], Hashable]] = {
    **dict.fromkeys((bool, int, float, complex), type),
    ArrayImpl: attrgetter("aval"),
    np.ndarray: attrgetter("shape", "dtype"),
}
"""By class of an argument: what of it decides which program serves it, in the least time."""


class _Settings:
    """Stands for JAX's settings, as long as a key has it."""


_known: "weakref.WeakValueDictionary[Hashable, _Settings]" = weakref.WeakValueDictionary()
_latest: tuple[Hashable, _Settings] = ((), _Settings())


def _settings() -> _Settings:
    """The object that stands for the settings of now."""
    global _latest
    now = trace_context()
    latest, settings = _latest
    if now != latest:
        settings = _known.setdefault(now, _Settings())
        _latest = now, settings
    return settings


def flat_key(leaves: Sequence[Any], names: Iterable[Any]) -> Hashable:
    """Of arguments that are arrays and numbers, none static; None where one is something else.

    `names`: how many are given by position, and the names of the others, where there are any.
    """
    latest, settings = _latest
    key: list[Any] = [settings if trace_context() == latest else _settings(), *names]
    try:
        for leaf in leaves:
            key.append(_LEAF_KEYS[type(leaf)](leaf))  # a third of the time
    except KeyError:
        return None
    return tuple(key)


def call_key(signature: Signature, call: Call, tree: Any, leaves: Sequence[Any]) -> Hashable:
    """Of a call with any arguments; None where a leaf is no array."""
    return tree_key(tree, leaves, signature.static_key(call))


def tree_key(tree: Any, leaves: Sequence[Any], static_key: Hashable = ()) -> Hashable:
    """The same; without static values, of the arguments as they are given."""
    key: list[Any] = [_settings(), tree, static_key]
    try:
        for leaf in leaves:
            of_leaf = _LEAF_KEYS.get(type(leaf))
            key.append((type(leaf), abstract_value(leaf)) if of_leaf is None else of_leaf(leaf))
    except (TypeError, ValueError):
        return None
    return tuple(key)


def program_key(
    signature: Signature, call: Call, tree: Any, avals: Sequence[ShapedArray]
) -> Hashable:
    """Of arguments of exactly these types."""
    return _key(signature, call, tree, types_key(avals))


def family_key(
    signature: Signature, call: Call, tree: Any, avals: Sequence[ShapedArray]
) -> Hashable:
    """Of arguments of these types, sizes apart."""
    kinds = ((aval.ndim, aval.dtype, aval.weak_type) for aval in avals)
    return _key(signature, call, tree, kinds)


def types_key(avals: Sequence[ShapedArray]) -> tuple[Hashable, ...]:
    """What types are, by name of symbols: those of JAX are equal only within one scope."""
    return tuple(
        (str(aval.shape), aval.dtype, aval.weak_type) if any(map(is_symbolic, aval.shape)) else aval
        for aval in avals
    )


def _key(signature: Signature, call: Call, tree: Any, leaves: Iterable[Hashable]) -> Hashable:
    return (trace_context(), tree, signature.static_key(call), *leaves)
