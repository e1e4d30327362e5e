"""What all kinds of callbacks share: when a call becomes an equation, its checks, their errors.

The trap: arguments may be constants of the program; it is the place of the call that decides, or,
outside of our traces, whether an argument is a tracer of JAX's (`jax.jit`, `jax.grad` around).
"""

from collections.abc import Callable
from typing import Any, ClassVar

import jax
from jax.core import Tracer

from diastase.capture.context import is_tracing
from diastase.tracing.signatures import misfit
from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import DiastaseError


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


# --- errors --------------------------------------------------------------------------------------


class CallbackFunctionError(DiastaseError, TypeError):
    """`pure_callback`, `accelerate` or `debug.callback` was applied to something else.

    They take a function: `pure_callback(function, float)(x)`, not `pure_callback(function(x))`.
    """

    title: ClassVar[str] = "Nothing to call"
    message: ClassVar[str] = "{construct} takes a function, not {type}"
    help: ClassVar[str] = "apply it to the function, and the result to arguments: {construct}(f)(x)"
    construct: str
    type: str


class CallbackArgumentsError(DiastaseError, TypeError):
    """A callback is called with other arguments than its function takes.

        qjit(lambda x: pure_callback(lambda a: a + 1, float)(x, x))

    It would be called when the program runs, so the call is checked before.
    """

    title: ClassVar[str] = "Arguments that do not fit"
    message: ClassVar[str] = "{function}: {problem}"
    help: ClassVar[str] = "pass arrays or numbers, one for each parameter of {function}"
    function: str
    problem: str


class CallbackReturnsError(DiastaseError, ValueError):
    """The function of a `debug.callback` returned something else than None.

    The program goes on without waiting for a value. For functions with results there is
    `pure_callback`, and `jax.experimental.io_callback` for those that have side effects, too.
    """

    title: ClassVar[str] = "A callback returned something"
    label: ClassVar[str] = "called from here"
    message: ClassVar[str] = "{function}, called by debug.callback, returned {found}"
    help: ClassVar[str] = "return nothing, or use pure_callback"
    function: str
    found: str


class ResultTypesError(DiastaseError, TypeError):
    """`pure_callback` does not know what its function returns.

    The function is called when the program runs, so the types of its results must be said before:
    as an annotation, `def f(x) -> float`, or as an argument, `pure_callback(f, float)`. Numbers are
    `float`, `int`, `bool`, `complex`; arrays `jax.ShapeDtypeStruct((2, 3), float)`, or an array
    like the result; several results a tuple, list or dictionary of these.
    """

    title: ClassVar[str] = "Unknown type of a callback's result"
    message: ClassVar[str] = "{function}: {problem}"
    help: ClassVar[str] = (
        "annotate the function, or give pure_callback the types of its results: float, int, bool, "
        "complex, jax.ShapeDtypeStruct(shape, dtype), or a tuple, list or dictionary of these"
    )
    function: str
    problem: str


class NotJitableError(DiastaseError, ValueError):
    """`accelerate` was applied to a function that `jax.jit` does not take.

    JAX compiles the function, so it must be written in `jax.numpy`, without Python's `if` on its
    arguments, without circuits and control flow of ours, and with sizes that are known. For other
    functions there is `pure_callback`.
    """

    title: ClassVar[str] = "Function must be jax.jit-able"
    message: ClassVar[str] = "{function}: {reason}"
    help: ClassVar[str] = "write it in jax.numpy and jax.lax, or call it by pure_callback"
    function: str
    reason: str


class DeviceError(DiastaseError, TypeError):
    """`accelerate(dev=...)` with something else than a device of JAX's."""

    title: ClassVar[str] = "Not a device"
    message: ClassVar[str] = "accelerate(dev={found})"
    help: ClassVar[str] = "pass one of jax.devices(), say jax.devices('gpu')[0]"
    found: str


class PrintFormatError(DiastaseError, ValueError, IndexError, KeyError, TypeError):
    """The arguments of `debug.print` do not fit its format.

        debug.print("{} {}", x)                # the second is missing
        debug.print("{:d}", x)                 # x is a float

    The format is Python's, of `str.format`; the class stands for what `str.format` raises.
    """

    title: ClassVar[str] = "Cannot print"
    message: ClassVar[str] = "{fmt}: {reason}"
    label: ClassVar[str] = "printed here"
    help: ClassVar[str] = (
        'fields are filled as by str.format: debug.print("{{}} {{y:.2f}}", x, y=y)'
    )
    fmt: str
    reason: str


class NotOneArrayError(DiastaseError, TypeError):
    """`debug.print_memref` prints one array; for anything else there is `debug.print`."""

    title: ClassVar[str] = "Not an array"
    message: ClassVar[str] = "print_memref takes one array, not {found}"
    help: ClassVar[str] = "use debug.print, or call print_memref for each array"
    found: str


class AssertionMessageError(DiastaseError, TypeError):
    """The second argument of `debug_assert` is the text of the error, known while tracing."""

    title: ClassVar[str] = "Not a text"
    message: ClassVar[str] = "the message of debug_assert is {found}"
    help: ClassVar[str] = 'pass a string: debug_assert(x < 5, "x is too large")'
    found: str


class ConditionError(DiastaseError, TypeError):
    """The first argument of `debug_assert` is a boolean, or an array of booleans.

        debug_assert(x, "x is zero")               # of a float
        debug_assert(x != 0, "x is zero")          # is right

    A number would be taken for true unless it is zero, which is hardly ever meant.
    """

    title: ClassVar[str] = "Not a condition"
    message: ClassVar[str] = "debug_assert was given {found}"
    help: ClassVar[str] = 'compare: debug_assert(x != 0, "x is zero")'
    found: str
