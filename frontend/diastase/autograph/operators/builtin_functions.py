"""Python's functions on traced values: what a function of this name does in a converted function.

Without a traced argument each is Python's own.
"""

import builtins
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp

from diastase.autograph.staging.errors import ForeignChangeError
from diastase.autograph.staging.items import (
    Enumeration,
    ItemIterator,
    Reversed,
    TracedRange,
    Zip,
)
from diastase.autograph.staging.staging import depth
from diastase.autograph.staging.variables import is_traced
from diastase_mlir.diagnostics import user_span


def _range(*bounds: Any) -> Any:
    return TracedRange(*bounds) if any(map(is_traced, bounds)) else range(*bounds)


def _len(value: Any) -> Any:
    return value.shape[0] if isinstance(value, jax.Array) and value.ndim else len(value)


def _cast(kind: Any, *values: Any, **options: Any) -> Any:
    """`int`, `float`, `bool`: as Python, `int` cuts off."""
    if options or len(values) != 1 or not is_traced(values[0]):
        return kind(*values, **options)
    return jnp.asarray(values[0]).astype(kind)


def _complex(*values: Any, **parts: Any) -> Any:
    """`complex`, of one value or of two parts."""
    if not any(map(is_traced, (*values, *parts.values()))):
        return complex(*values, **parts)
    return _complex_of_parts(*values, **parts)


def _complex_of_parts(real: Any = 0, imag: Any = 0) -> Any:
    return jnp.asarray(real + 1j * imag, complex)


def _extreme(
    plain: Callable[..., Any], of_two: Any, of_array: Any, *values: Any, **options: Any
) -> Any:
    """`min` and `max`, of several numbers or of one array."""
    if len(values) == 1 and _is_traced_array(values[0]) and options.keys() <= {"default"}:
        return of_array(values[0]) if len(values[0]) else plain((), **options)
    several = values[0] if len(values) == 1 and _has_traced(values[0]) else values
    is_one = len(values) == 1 and several is values
    if is_one or "key" in options or not any(map(is_traced, several)):
        return plain(*values, **options)
    return reduce(of_two, several)


def _has_traced(values: Any) -> bool:
    return isinstance(values, list | tuple) and any(map(is_traced, values))


def _is_traced_array(value: Any) -> bool:
    return isinstance(value, jax.Array) and is_traced(value) and value.ndim > 0


def _truth(plain: Callable[[Any], Any], of_array: Callable[[Any], Any], values: Any, /) -> Any:
    """`any` and `all`."""
    if _is_traced_array(values):
        return of_array(values)
    if _has_traced(values):
        return of_array(jnp.stack([jnp.asarray(value).astype(bool) for value in values]))
    return plain(values)


def _next(iterator: Any, /, *default: Any) -> Any:
    """`next`: a block that runs any number of times cannot take from an iterator of Python's."""
    if depth() and not isinstance(iterator, ItemIterator):
        raise ForeignChangeError(what="an iterator", span=user_span())
    return next(iterator, *default)


def _sum(values: Any, /, *start: Any, **options: Any) -> Any:
    """`sum`, of an array along its first axis."""
    if start or options or not _is_traced_array(values):
        return sum(values, *start, **options)
    return jnp.sum(values, axis=0)


BUILT_IN: dict[Any, Callable[..., Any]] = {
    builtins.range: _range,
    builtins.enumerate: Enumeration,
    builtins.zip: Zip,
    builtins.reversed: Reversed,
    builtins.next: _next,
    builtins.len: _len,
    builtins.int: partial(_cast, int),
    builtins.float: partial(_cast, float),
    builtins.bool: partial(_cast, bool),
    builtins.complex: _complex,
    builtins.min: partial(_extreme, min, jnp.minimum, jnp.min),
    builtins.max: partial(_extreme, max, jnp.maximum, jnp.max),
    builtins.any: partial(_truth, any, jnp.any),
    builtins.all: partial(_truth, all, jnp.all),
    builtins.sum: _sum,
}
