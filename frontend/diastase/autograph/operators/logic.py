"""`and`, `or`, `not` and `in`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.autograph.errors import LogicalOperandError
from diastase.autograph.operators.statements import if_exp
from diastase.autograph.staging import is_active, is_undecided
from diastase.autograph.variables import has_tracer, is_array
from diastase.tracing.regions import current_scope
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
    """`item in container`."""
    if not is_active() or not has_tracer((item, container)):
        return item in container
    if isinstance(container, jax.Array | np.ndarray):
        return jnp.any(jnp.asarray(container) == item)
    candidates = [value for value in container if is_array(value)]
    return jnp.any(jnp.stack([jnp.all(item == value) for value in candidates] or [False]))


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
