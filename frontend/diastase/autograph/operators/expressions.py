"""`and`, `or`, `not`, `in`, and Python's built-in functions, on traced values.

What does not depend on a traced value is Python's own. `BUILT_IN` has what a function of this name
does in a converted function. The trap: `and` and `or` of traced values give booleans, not one of
the operands, and their second operand is evaluated in a branch only if it may apply a gate.
"""

import builtins
from collections import deque
from collections.abc import Callable, ItemsView, Mapping, Set, ValuesView
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from diastase.autograph.operators.statements import if_exp
from diastase.autograph.staging.errors import ForeignChangeError, LogicalOperandError
from diastase.autograph.staging.items import Enumeration, ItemIterator, Reversed, TracedRange, Zip
from diastase.autograph.staging.staging import depth, is_active, is_undecided
from diastase.autograph.staging.variables import is_array, is_traced
from diastase.capture.regions import current_scope
from diastase_mlir.diagnostics import user_span

Block = Callable[[], Any]


def and_(first: Block, other: Block) -> Any:
    """`a and b`."""
    left = first()
    if not is_undecided(left):
        return left and other()
    if _may_act(other, left):
        return if_exp(left, lambda: _truth(other()), lambda: False)
    return jnp.logical_and(left, _operand("and", other()))


def or_(first: Block, other: Block) -> Any:
    """`a or b`."""
    left = first()
    if not is_undecided(left):
        return left or other()
    if _may_act(other, left):
        return if_exp(left, lambda: True, lambda: _truth(other()))
    return jnp.logical_or(left, _operand("or", other()))


def not_(value: Any) -> Any:
    """`not a`."""
    return jnp.logical_not(value) if is_undecided(value) else not value


def in_(item: Any, container: Any) -> Any:
    """`item in container`: what is traced is compared when the program runs, the rest by Python."""
    if not is_active():
        return item in container
    if isinstance(container, range | TracedRange):
        return _in_range(item, container)
    if isinstance(container, jax.Array | np.ndarray):
        is_known = not (_has_tracer(item) or isinstance(container, Tracer))
        return item in container if is_known else jnp.any(jnp.asarray(container) == item)
    if not isinstance(container, _COMPARED) and hasattr(container, "__contains__"):
        return item in container
    if isinstance(container, Mapping | Set) and not isinstance(container, ItemsView):
        if not _has_tracer(item):  # the keys are none: they are hashed
            return item in container
    return _is_any(item, list(container))


_COMPARED = (list, tuple, deque, Mapping, Set, ValuesView)
"""Containers that have an item if they have an equal one."""


def _in_range(item: Any, numbers: Any) -> Any:
    bounds = (numbers.start, numbers.stop, numbers.step)
    if not any(isinstance(value, Tracer) for value in (item, *bounds)):
        return item in numbers
    if not is_array(item):
        return False
    start, stop, step = bounds
    rising = (item >= start) & (item < stop)
    falling = (item <= start) & (item > stop)
    return jnp.where(step > 0, rising, falling) & ((item - start) % step == 0)


def _is_any(item: Any, candidates: list[Any]) -> Any:
    """Whether one of them is equal; numbers are compared at once, so many take no longer."""
    kinds = set(map(type, candidates))
    if isinstance(item, Tracer) and item.ndim == 0 and kinds in ({int}, {float}):
        numbers = np.asarray(candidates, jnp.result_type(item, candidates[0]))
        return jnp.any(jnp.asarray(numbers) == item)
    found = [_equal(item, candidate) for candidate in candidates]
    if any(one is True for one in found):
        return True
    undecided = [one for one in found if one is not False]
    return jnp.any(jnp.stack(undecided)) if undecided else False


def _equal(left: Any, right: Any) -> Any:
    """A boolean; a traced one where tracers are compared, in tuples and lists, too."""
    if left is right:
        return True
    if _is_pair_of(tuple, left, right) or _is_pair_of(list, left, right):
        parts = list(map(_equal, left, right)) if len(left) == len(right) else [False]
        if any(part is False for part in parts):
            return False
        undecided = [part for part in parts if part is not True]
        return jnp.all(jnp.stack(undecided)) if undecided else True
    if isinstance(left, Tracer) or isinstance(right, Tracer):
        if is_array(left) and is_array(right) and np.shape(left) == np.shape(right):
            return jnp.all(left == right)
    return bool(left == right)


def _is_pair_of(kind: type, left: Any, right: Any) -> bool:
    return isinstance(left, kind) and isinstance(right, kind)


def _has_tracer(item: Any) -> bool:
    """Whether a value to compare is a tracer, or a tuple or list with one."""
    parts = isinstance(item, tuple | list)
    return any(map(_has_tracer, item)) if parts else isinstance(item, Tracer)


def not_in(item: Any, container: Any) -> Any:
    """`item not in container`."""
    return not_(in_(item, container))


def _may_act(block: Block, left: Any) -> bool:
    """Whether evaluating an operand may apply a gate or measure: then it is not done in vain."""
    calls = "converted_call" in block.__code__.co_names
    return calls and current_scope() is not None and np.ndim(left) == 0


def _truth(value: Any) -> Any:
    return jnp.asarray(value).astype(bool)


def _operand(name: str, value: Any) -> Any:
    """The second operand; the result is a boolean, so another number would be lost."""
    if isinstance(value, jax.Array | np.ndarray | np.bool_ | bool):
        return value
    raise LogicalOperandError(operator=name, found=repr(value), span=user_span())


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


def _any_or_all(plain: Callable[[Any], Any], of_array: Callable[[Any], Any], values: Any, /) -> Any:
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
    builtins.any: partial(_any_or_all, any, jnp.any),
    builtins.all: partial(_any_or_all, all, jnp.all),
    builtins.sum: _sum,
}
