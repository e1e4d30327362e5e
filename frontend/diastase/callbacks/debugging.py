"""`debug.callback`, `print`, `print_memref` and `debug_assert`: called when the program runs.

They have effects and no results. In gradients they run once, with the forward pass; under `vmap`
once for each element.
"""

import builtins
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.callbacks.calls import (
    AssertionMessageError,
    CallbackReturnsError,
    ConditionError,
    NotOneArrayError,
    PrintFormatError,
    becomes_an_equation,
    check_arguments,
    checked_function,
    described,
    name_of,
)
from diastase.capture.context import current_settings, is_tracing
from diastase.primitives.checks import assert_holds
from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import DebugAssertionError, Span


def callback(callback_fn: Callable[..., None]) -> Callable[..., None]:
    """Call a Python function that returns nothing at this point of the program, when it runs.

    It gets the values of its arguments, of any pytrees, as `jax.Array`s. What it raises comes out
    of the compiled function.

    >>> from diastase import debug, qjit
    >>> @debug.callback
    ... def show(y):
    ...     print("y =", y)
    >>> @qjit
    ... def f(x: float):
    ...     show(x + 1)
    ...     return x
    >>> _ = f(1.0)
    y = 2.0

    In a gradient it is called in the forward pass only. `ValueError` if the function returns
    something, `TypeError` if it does not take such arguments. Outside of compiled functions it is
    simply called.
    """
    function = checked_function(callback_fn, "debug.callback")

    def called(span: Span | None, args: Any, kwargs: Any) -> None:
        result = function(*args, **kwargs)
        if result is not None:
            raise CallbackReturnsError(function=name_of(function), found=repr(result), span=span)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> None:
        if becomes_an_equation((args, kwargs)):
            check_arguments(function, args, kwargs)
            jax.debug.callback(functools.partial(called, user_span()), args, kwargs)
        else:
            called(user_span(), args, kwargs)

    return call


def print(fmt: Any, *args: Any, **kwargs: Any) -> None:
    """Print values at this point of the program, when it runs.

    `fmt` is a format string for the arguments, as for `str.format`; anything else is printed as
    Python's `print` would, with the arguments after it. An f-string would be formatted while the
    program is traced, when there are no values yet.

    >>> from diastase import debug, qjit
    >>> @qjit
    ... def f(x: float):
    ...     debug.print("x = {x:.2f}, twice as much is {}", 2 * x, x=x)
    ...     return x
    >>> _ = f(1.5)
    x = 1.50, twice as much is 3.0

    In a gradient it prints in the forward pass only. Where arguments do not fit the format, the
    compiled function raises `PrintFormatError`: a `ValueError`, and what else `str.format` raises.
    """
    if not isinstance(fmt, str):
        return callback(builtins.print)(fmt, *args, **kwargs)
    return callback(functools.partial(_print, user_span(), fmt))(*args, **kwargs)


def _print(span: Span | None, fmt: str, /, *args: Any, **kwargs: Any) -> None:
    try:
        text = fmt.format(*args, **kwargs)
    except KeyError as error:
        reason = f"there is no argument {error.args[0]}"
        raise PrintFormatError(fmt=repr(fmt), reason=reason, span=span) from error
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        raise PrintFormatError(fmt=repr(fmt), reason=str(error), span=span) from error
    builtins.print(text)


def print_memref(x: Any) -> None:
    """Print an array and how it lies in memory, at this point of the program, when it runs.

    The memory is a copy that is made for printing. Outside of compiled functions it is `print(x)`.

    `TypeError` for anything but one array or number.
    """
    if not becomes_an_equation(x):
        return builtins.print(x)
    is_key = isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.extended)
    if not isinstance(x, jax.Array | np.ndarray | np.generic | _NUMBERS) or is_key:
        raise NotOneArrayError(found=described(x), span=user_span())
    callback(_print_memref)(x)


_NUMBERS = bool | int | float | complex


def _print_memref(x: Any) -> None:
    array = np.asarray(x)
    strides = [stride // array.itemsize for stride in array.strides]
    builtins.print(
        f"MemRef: base@ = {array.ctypes.data:#x} rank = {array.ndim} offset = 0 "
        f"sizes = {list(array.shape)} strides = {strides} data =\n"
        + np.array2string(array, separator=",  ", threshold=array.size + 1)
    )


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
