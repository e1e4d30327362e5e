"""`debug_assert`: what must hold when a program runs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.callbacks.calls import becomes_an_equation, described
from diastase.callbacks.errors import AssertionMessageError, ConditionError
from diastase.capture.context import current_settings, is_tracing
from diastase.primitives.checks import assert_holds
from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import DebugAssertionError


def debug_assert(condition: Any, error: Any) -> None:
    """Check, when the program runs, that a condition holds; of an array, that all of it does.

    >>> from diastase import debug_assert, qjit
    >>> @qjit
    ... def f(x: int):
    ...     debug_assert(x < 5, "x is too large")
    ...     return x * 8
    >>> f(4)
    Array(32, dtype=int64, weak_type=True)

    `RuntimeError` with the message, and the line, where it does not hold; nothing is checked in
    programs of `qjit(disable_assertions=True)`. `TypeError` if the condition is no boolean, or the
    message no string. Under `jax.jit` alone it is checked, too, and JAX's `RuntimeError` quotes
    ours.
    """
    if not isinstance(error, str):
        raise AssertionMessageError(found=repr(error), span=user_span())
    if not isinstance(condition, bool) and getattr(condition, "dtype", None) != np.bool_:
        raise ConditionError(found=described(condition), span=user_span())
    if current_settings().without_assertions:
        return
    if is_tracing():
        assert_holds(jnp.all(condition), error)
        return
    span = user_span()

    def check(condition: Any) -> None:
        if not np.all(condition):
            raise DebugAssertionError(what=error, span=span)

    if becomes_an_equation(condition):
        jax.debug.callback(check, condition)
    else:
        check(condition)
