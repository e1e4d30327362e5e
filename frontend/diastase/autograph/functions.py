"""`run_autograph`, `disable_autograph`, `autograph_source`; what `qjit(autograph=True)` does."""

import copy
import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import FunctionType
from typing import Any

import pennylane as qml

from diastase.autograph import operators
from diastase.autograph.operators.calls import call, mark, use_operators
from diastase.autograph.staging.errors import NotAFunctionError, NotAutoGraphedError
from diastase.autograph.staging.selection import module_name
from diastase.autograph.syntax.conversion import converted_source
from diastase.capture.context import changed_settings, current_settings

use_operators(operators)

_OF_QJIT = "original_function"
"""What a compiled function has, whose class imports this module, and no other callable."""


def run_autograph(fn: Callable[..., Any], *modules: Any) -> Callable[..., Any]:
    """Convert a function, to be called where a program is traced; elsewhere it is as before.

    `qjit(autograph=True)` does this for the function that it compiles.

    Args:
        fn: a function, a QNode, or a compiled function.
        *modules: modules, or their names, whose functions are converted, too, when they are called,
            though they belong to a library.

    Returns:
        A function of the same arguments, or a QNode. Python's `if`, `for`, `while`, `and`, `or`,
        `not` and item assignment are control flow of the program in it, where values are traced.

    Raises:
        NotAFunctionError: a `TypeError`, for what is no function, or no module.
        AutoGraphError: when it is traced, for what cannot be converted.

    Example:
        >>> from diastase import qjit, run_autograph
        >>> @qjit
        ... @run_autograph
        ... def halvings(x):
        ...     count = 0
        ...     while x > 1:
        ...         x, count = x / 2, count + 1
        ...     return count
        >>> int(halvings(10.0))
        4

    """
    fn = getattr(fn, _OF_QJIT, fn)
    _require_function("run_autograph", fn)
    return with_autograph(fn, [_name_of(module) for module in modules])


def with_autograph(fn: Any, modules: Sequence[str]) -> Any:
    """The function, converted when it is traced, with those of these modules."""
    if isinstance(fn, qml.QNode):
        made: Any = copy.copy(fn)
        made.func = with_autograph(fn.func, modules)
        return made

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        included = current_settings().autograph_include
        with changed_settings(autograph_include=(*included, *modules)):
            return call(fn, args, kwargs, is_required=True)

    return mark(run)


class _DisableAutograph:
    """Leave control flow to Python: decorator, wrapper and context manager.

    What a function calls, when it is decorated, is left to Python, too.

    Args:
        func: as a decorator or wrapper, a function.

    Returns:
        A function of the same arguments. As a context manager it gives nothing.

    Raises:
        NotAFunctionError: a `TypeError`, for what is no function.

    Example:
        >>> from diastase import disable_autograph, qjit
        >>> @disable_autograph
        ... def power(x, n):
        ...     for _ in range(n):          # unrolled while tracing: n must be known
        ...         x = x * x
        ...     return x
        >>> @qjit(autograph=True)
        ... def f(x):
        ...     with disable_autograph:
        ...         y = power(x, 2)
        ...     return y
        >>> float(f(2.0))
        16.0

    """

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function as Python runs it, and all that it calls."""
        _require_function("disable_autograph", func)

        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return mark(run)

    def __enter__(self) -> None:
        block = ExitStack()
        block.enter_context(changed_settings(without_autograph=True))
        _blocks.entered.append(block)

    def __exit__(self, *_: Any) -> None:
        _blocks.entered.pop().close()


class _Blocks(threading.local):
    """The blocks that this thread is inside: one object stands for all of them."""

    def __init__(self) -> None:
        self.entered: list[ExitStack] = []


_blocks = _Blocks()
disable_autograph = _DisableAutograph()


def autograph_source(fn: Callable[..., Any]) -> str:
    """The converted code of a function as text.

    Args:
        fn: a compiled function, or one that such a function calls. Functions are converted when
            they are traced: call the compiled function first.

    Returns:
        Python code, which calls the operators of `ag__`.

    Raises:
        NotAutoGraphedError: a `ValueError`, for a function that has not been converted.
        NotAFunctionError: a `TypeError`, for what is no function.

    Example:
        >>> from diastase import autograph_source, qjit
        >>> @qjit(autograph=True)
        ... def sign(x: float):
        ...     return 1 if x > 0 else -1
        >>> "ag__.if_exp" in autograph_source(sign)
        True

    """
    _require_function("autograph_source", fn)
    function: Any = fn
    while not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        function = _inside(function)
        if function is None:
            raise NotAFunctionError(name="autograph_source", found=_described(fn))
    source = converted_source(function)
    if source is None:
        raise NotAutoGraphedError(function=function.__qualname__)
    return source


def _inside(function: Any) -> Any:
    """The function that a callable is made from."""
    for name in (_OF_QJIT, "__wrapped__", "func", "__func__"):
        if hasattr(function, name):
            return getattr(function, name)
    method = inspect.getattr_static(type(function), "__call__", None)
    return method if isinstance(method, FunctionType) else None


def _require_function(name: str, fn: Any) -> None:
    if not callable(fn) or isinstance(fn, type):
        raise NotAFunctionError(name=name, found=_described(fn))


def _name_of(module: Any) -> str:
    name = module_name(module)
    if name is None:
        raise NotAFunctionError(name="run_autograph", found=f"{_described(module)} as a module")
    return name


def _described(value: Any) -> str:
    return f"{value!r} of type {type(value).__name__}"
