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

    In a gradient it is called in the forward pass only. Outside of compiled functions it is simply
    called.

    Args:
        callback_fn: gets the values of its arguments, of any pytrees, as `jax.Array`s. What it
            raises comes out of the compiled function.

    Returns:
        A function of the same arguments, which may be traced.

    Raises:
        CallbackFunctionError: a `TypeError`, for what is no function.
        CallbackArgumentsError: a `TypeError`, in a call, if it does not take such arguments.
        CallbackReturnsError: a `ValueError`, when the program runs, if it returns something.

    Example:
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

    In a gradient it prints in the forward pass only.

    Args:
        fmt: a format string for the arguments, as for `str.format`; anything else is printed as
            Python's `print` would, with the arguments after it. An f-string would be formatted
            while the program is traced, when there are no values yet.
        *args: arrays, or pytrees of them, of any shapes.
        **kwargs: the same, for names in the format.

    Raises:
        PrintFormatError: a `ValueError`, when the program runs, if arguments do not fit the format;
            also what else `str.format` raises.

    Example:
        >>> from diastase import debug, qjit
        >>> @qjit
        ... def f(x: float):
        ...     debug.print("x = {x:.2f}, twice as much is {}", 2 * x, x=x)
        ...     return x
        >>> _ = f(1.5)
        x = 1.50, twice as much is 3.0

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

    Args:
        x: one array or number, of any shape and dtype.

    Raises:
        NotOneArrayError: a `TypeError`, in a program, for anything else.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import debug, qjit
        >>> @qjit
        ... def f(x):
        ...     debug.print_memref(x)
        >>> f(jnp.arange(3))
        MemRef: base@ = 0x... rank = 1 offset = 0 sizes = [3] strides = [1] data =
        [0,  1,  2]

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

    Nothing is checked in programs of `qjit(disable_assertions=True)`. Under `jax.jit` alone it is
    checked, too, and JAX's `RuntimeError` quotes ours.

    Args:
        condition: a boolean, or an array of booleans of any shape.
        error: a string, the message.

    Raises:
        DebugAssertionError: a `RuntimeError` and an `AssertionError`, with the message and the
            line, when the program runs, if it does not hold.
        ConditionError: a `TypeError`, if the condition is no boolean.
        AssertionMessageError: a `TypeError`, if the message is no string.

    Example:
        >>> from diastase import debug_assert, qjit
        >>> @qjit
        ... def f(x: int):
        ...     debug_assert(x < 5, "x is too large")
        ...     return x * 8
        >>> f(4)
        Array(32, dtype=int64, weak_type=True)

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
