"""`and`, `or`, `not` and `in`."""

from collections import deque
from collections.abc import Callable, ItemsView, Mapping, Set, ValuesView
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from diastase.autograph.operators.statements import if_exp
from diastase.autograph.staging.errors import LogicalOperandError
from diastase.autograph.staging.items import TracedRange
from diastase.autograph.staging.staging import is_active, is_undecided
from diastase.autograph.staging.variables import is_array
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
