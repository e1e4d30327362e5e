"""What all kinds of callbacks share: when a call becomes part of a program, what it is checked for.

The trap: arguments may be constants of the program; it is the place of the call that decides, or,
outside of our traces, whether an argument is a tracer of JAX's (`jax.jit`, `jax.grad` around).
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.core import Tracer

from diastase.callbacks.errors import CallbackArgumentsError, CallbackFunctionError
from diastase.capture.context import is_tracing
from diastase.tracing.signatures import misfit
from diastase_mlir.diagnostics import user_span


def becomes_an_equation(arguments: Any) -> bool:
    """Whether a call with this pytree of arguments is recorded, and made when a program runs."""
    return is_tracing() or any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(arguments))


def checked_function(function: Any, construct: str) -> Callable[..., Any]:
    """The function, if it is one."""
    if not callable(function):
        kind = repr(function)
        raise CallbackFunctionError(construct=construct, type=kind, span=user_span())
    return function


def check_arguments(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Refuse arguments that a function does not take, before the program runs."""
    problem = misfit(function, args, kwargs)
    if problem:
        name = name_of(function)
        raise CallbackArgumentsError(function=name, problem=problem, span=user_span())


def described(value: Any) -> str:
    """What a value is, for messages: its type if it is an array."""
    return jax.typeof(value).str_short() if isinstance(value, jax.Array) else repr(value)


def name_of(function: Callable[..., Any]) -> str:
    """What to call a function in messages."""
    return getattr(function, "__name__", type(function).__qualname__)
