"""Calls in converted functions: what is called is converted first, if it is the user's.

Functions of libraries are called as they are, but functions of the user's that they are given
(`jax.grad(f)`, `qml.adjoint(f)`, `map(f, …)`) are converted when they are called. A few built-in
functions know traced values here: `range`, `len`, `int`, `min`, … (`expressions`).
"""

import builtins
import copy
import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CellType, FunctionType, MethodType
from typing import Any

import jax
import pennylane as qml
from malt.operators import py_builtins

from diastase.autograph.operators.expressions import BUILT_IN
from diastase.autograph.staging.errors import AutoGraphError, RecursiveFunctionError, warn_or_refuse
from diastase.autograph.staging.selection import is_excluded, takes_functions
from diastase.autograph.staging.staging import depth, is_active, variables_around
from diastase.autograph.syntax.conversion import converted
from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import Span

_MARKED: weakref.WeakSet[FunctionType] = weakref.WeakSet()
"""Not an attribute of the functions: `functools.wraps` would copy it to what is made of them."""
_DEEPEST = 15
"""How often a function may be inside of itself, each time in control flow on traced values."""

_JITTED = type(jax.jit(lambda: None))
_IN_CONTEXT: dict[Any, Callable[..., Any]] = {
    eval: py_builtins.eval_in_original_context,
    super: py_builtins.super_in_original_context,
}


def mark(function: Any) -> Any:
    """Say of a function that it is called as it is: it is converted, or must not be."""
    _MARKED.add(getattr(function, "__func__", function))
    return function


def is_marked(function: Any) -> bool:
    """Whether a function is called as it is."""
    function = getattr(function, "__func__", function)
    return isinstance(function, FunctionType) and function in _MARKED


def call(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    scope: Any = None,
    *,
    is_required: bool = False,
) -> Any:
    """Call a function, converted if need be: `ag__.converted_call`.

    `is_required`: that it is converted was asked for, so it is an error if that is impossible.
    """
    kwargs = kwargs or {}
    if not is_active() or is_marked(function):
        return _as_it_is(function, args, kwargs, scope)
    if isinstance(function, functools.partial):
        return call(function.func, function.args + args, {**function.keywords, **kwargs}, scope)
    if isinstance(function, _JITTED):  # programs of ours are inlined, whatever is static
        return call(inspect.unwrap(function), args, kwargs, scope)
    if isinstance(function, qml.QNode):
        return converted_qnode(function)(*args, **kwargs)
    target = _target(function)
    if target is None:
        if takes_functions(function):
            args = tuple(map(_converted_argument, args))
            kwargs = {name: _converted_argument(value) for name, value in kwargs.items()}
            function = _rebuilt(function)
        return _as_it_is(function, args, kwargs, scope)
    made = _converted(target, is_required)
    if made is None:
        return function(*args, **kwargs)
    with _activation(target):
        return made(*_bound(function), *args, **kwargs)


def converted_qnode(qnode: qml.QNode) -> qml.QNode:
    """The same QNode with its function converted."""
    made: Any = copy.copy(qnode)
    made.func = converted_on_call(qnode.func)
    return made


def converted_on_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is converted when it is called while tracing."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return call(function, args, kwargs)

    return mark(run)


def _converted_argument(value: Any) -> Any:
    """A value given to a library: if it is a function of the user's, it is converted later."""
    if isinstance(value, qml.QNode) and not is_marked(value.func):
        return converted_qnode(value)
    if isinstance(value, FunctionType | MethodType | functools.partial) and not is_marked(value):
        inner = value.func if isinstance(value, functools.partial) else value
        return value if _target(inner) is None else converted_on_call(value)
    return value


def _rebuilt(function: Any, inside: tuple[Any, ...] = ()) -> Any:
    """A function that a library has made of one of the user's, made of the converted one.

    `jax.grad(f)` and the like close over `f`, or over functions that do.
    """
    if not isinstance(function, FunctionType) or not function.__closure__ or function in inside:
        return function
    cells = [_converted_cell(cell, (*inside, function)) for cell in function.__closure__]
    if all(new is old for new, old in zip(cells, function.__closure__, strict=True)):
        return function
    code, namespace = function.__code__, function.__globals__
    made = FunctionType(code, namespace, closure=tuple(cells), argdefs=function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(made, function)


def _converted_cell(cell: CellType, inside: tuple[Any, ...]) -> CellType:
    try:
        value = cell.cell_contents
    except ValueError:
        return cell
    is_library = isinstance(value, FunctionType) and takes_functions(value)
    made = _rebuilt(value, inside) if is_library else _converted_argument(value)
    return cell if made is value else CellType(made)


def _target(function: Any) -> FunctionType | None:
    """The Python function to be converted, if a callable is one of the user's."""
    if inspect.isclass(function):
        return None
    target = getattr(function, "__func__", function)
    if not isinstance(target, FunctionType):
        target = inspect.getattr_static(type(function), "__call__", None)
    if not isinstance(target, FunctionType) or is_excluded(target) or is_marked(target):
        return None
    return None if inspect.isgeneratorfunction(target) else target


def _bound(function: Any) -> tuple[Any, ...]:
    """What comes before the arguments of a call: `self`."""
    if isinstance(function, FunctionType):
        return ()
    return (function.__self__ if isinstance(function, MethodType) else function,)


def operators() -> Any:
    """The module `operators`, which imports this one."""
    return _operators[0]


_operators: list[Any] = []


def use_operators(namespace: Any) -> None:
    """Say what `ag__` is in converted functions."""
    _operators.append(namespace)


def _converted(target: FunctionType, is_required: bool) -> FunctionType | None:
    """The converted function, or None where that is impossible; then there is a warning."""
    code = target.__code__
    if code.co_filename == "<string>" and not is_required:
        return None
    try:
        return converted(target, operators())
    except AutoGraphError as error:
        if is_required:
            raise
        line = error.span or Span(code.co_filename, code.co_firstlineno, code.co_qualname)
        text = f"{error.message.format(**vars(error))}; it runs as it is, without AutoGraph"
        warn_or_refuse(error, text, line)
        return None


def _as_it_is(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], scope: Any) -> Any:
    if function is builtins.locals or function is builtins.globals:
        names = {locals: "locals", globals: "globals"}
        return getattr(py_builtins, f"{names[function]}_in_original_context")(scope)
    try:
        in_context, built_in = _IN_CONTEXT.get(function), BUILT_IN.get(function)
    except TypeError:  # it has no hash
        in_context = built_in = None
    if in_context is not None:
        return in_context(function, args, scope)
    if built_in is not None and is_active():
        return built_in(*args, **kwargs)
    return function(*args, **kwargs)


# --- recursion -----------------------------------------------------------------------------------


class _Activations(threading.local):
    def __init__(self) -> None:
        self.depths: dict[Any, list[int]] = {}


_activations = _Activations()


@contextmanager
def _activation(function: FunctionType) -> Generator[None]:
    """Inside, a function is active; refuses one that has no end while it is traced."""
    depths = _activations.depths.setdefault(function.__code__, [])
    if len({*depths, depth()}) > _DEEPEST:
        raise RecursiveFunctionError(function=function.__qualname__, span=user_span())
    depths.append(depth())
    try:
        with variables_around(function):
            yield
    finally:
        depths.pop()
