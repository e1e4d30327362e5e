"""`assert` and `raise`: while tracing, or checks when the program runs; and what was caught."""

import sys
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from diastase.autograph.staging.staging import depth, is_active
from diastase.autograph.staging.variables import is_traced
from diastase.capture.context import current_settings
from diastase.primitives.checks import assert_holds, require


def assert_stmt(condition: Any, message: Callable[[], Any]) -> None:
    """`assert`: of a traced value it is checked when the program runs, as by `debug_assert`."""
    checked_later = is_active() and is_traced(condition)
    if checked_later and current_settings().without_assertions:
        return
    if not checked_later and condition:
        return
    if not checked_later and raises_now():
        raise AssertionError(*filter(None, [message()]))
    holds = jnp.all(condition) if checked_later else jnp.asarray(False)
    assert_holds(holds, str(message() or "an assertion does not hold"))


def raises_now() -> bool:
    """Whether `raise` is certain to be reached, so that it is done while tracing."""
    return not (is_active() and depth())


def caught() -> BaseException | None:
    """The exception of the `except` block that calls."""
    return sys.exception()


def raise_stmt(exception: Callable[[], Any]) -> None:
    """`raise` where it may be reached when the program runs, or not."""
    made = exception()
    kind = made if isinstance(made, type) else type(made)
    text = "" if isinstance(made, type) else str(made)
    require(jnp.asarray(False), f"{kind.__name__}: {text}" if text else kind.__name__)
