"""What JAX refuses to trace, as errors of ours: each derives from JAX's own class, too."""

from collections.abc import Sequence
from typing import Any, ClassVar

import jax
from jax.core import Tracer

from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import DiastaseError


class TracedConditionError(DiastaseError, jax.errors.TracerBoolConversionError):
    """Python's `if`, `while`, `and`, `or`, `not` or `assert` on a value known only at run time.

    While a function is being traced, `x > 0` is not True or False but a value of the compiled
    program, so Python cannot branch on it. Branch in the program instead: `diastase.cond`,
    `diastase.while_loop`, or `jnp.where(x > 0, a, b)` to choose between values. If the argument is
    the same for whole runs, make it static (`static_argnums`).

    Example:
        >>> from diastase import qjit
        >>> qjit(lambda x: 1 if x > 0 else 0)(2.0)
        Traceback (most recent call last):
        ...
        diastase.capture.tracer_errors.TracedConditionError: Python cannot branch on a traced...

    """

    title: ClassVar[str] = "Python cannot branch on a traced value"
    message: ClassVar[str] = "a value of type {type_name} is known only when the program runs"
    label: ClassVar[str] = "needs True or False while tracing"
    help: ClassVar[str] = (
        "compile with qjit(autograph=True), use diastase.cond or diastase.while_loop, choose "
        "values with jnp.where, or make the argument static (static_argnums)"
    )
    type_name: str


class TracedIndexError(DiastaseError, jax.errors.TracerIntegerConversionError):
    """Python needs an integer that is known only at run time: `range(n)`, `[1, 2, 3][n]`, `len(a)`.

    Loop with `diastase.for_loop(0, n, 1)`, index a JAX array instead of a Python list
    (`jnp.array([1, 2, 3])[n]`), or make the argument static (`static_argnums`). As the size of a
    JAX array, `jnp.ones(n)`, a traced integer is fine.

    Example:
        >>> from diastase import qjit
        >>> qjit(lambda n: [1, 2, 3][n])(2)
        Traceback (most recent call last):
        ...
        diastase.capture.tracer_errors.TracedIndexError: Python needs an integer that is traced...

    """

    title: ClassVar[str] = "Python needs an integer that is traced"
    message: ClassVar[str] = "{what} is known only when the program runs"
    label: ClassVar[str] = "needs a number while tracing"
    help: ClassVar[str] = "{instead}"
    what: str
    instead: str = (
        "use a.shape[0] for len(a), diastase.for_loop for range(n), index a jnp array instead of "
        "a list, or make the argument static (static_argnums)"
    )


class RefusedCallError(DiastaseError, TypeError, ValueError, IndexError):
    """JAX, PennyLane or another library refuses a call: shapes that do not fit, too few wires.

        @qjit
        def f(a, b): return a @ b        # of shapes (2, 3) and (2, 3)

    The message is the library's own. The class stands for `TypeError`, `ValueError` and
    `IndexError`, whichever of them the library raises.
    """

    title: ClassVar[str] = "A call that does not fit"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "refused here"
    what: str


class TracedArrayError(DiastaseError, jax.errors.TracerArrayConversionError):
    """A NumPy function was given a value known only at run time.

    NumPy computes at once and needs numbers. Use the function of the same name in `jax.numpy`;
    where there is none, call Python from the program with `jax.pure_callback`.

    Example:
        >>> import numpy as np
        >>> from diastase import qjit
        >>> qjit(np.sort)(np.ones(3))
        Traceback (most recent call last):
        ...
        diastase.capture.tracer_errors.TracedArrayError: NumPy needs an array that is traced: ...

    """

    title: ClassVar[str] = "NumPy needs an array that is traced"
    message: ClassVar[str] = "a value of type {type_name} is known only when the program runs"
    label: ClassVar[str] = "converts to a NumPy array while tracing"
    help: ClassVar[str] = "use jax.numpy, or jax.pure_callback for what jax.numpy does not have"
    type_name: str


class TracedValueError(DiastaseError, jax.errors.ConcretizationTypeError):
    """Python needs the number behind a value known only at run time: `float(x)`, `x.item()`.

    Compute with the traced value itself (`jnp.sqrt(x)` for `math.sqrt(x)`, `x.astype(float)` for
    `float(x)`), or make the argument static (`static_argnums`).

    Example:
        >>> import math
        >>> from diastase import qjit
        >>> qjit(math.sqrt)(2.0)
        Traceback (most recent call last):
        ...
        diastase.capture.tracer_errors.TracedValueError: Python needs a number that is traced: ...

    """

    title: ClassVar[str] = "Python needs a number that is traced"
    message: ClassVar[str] = "{what} is known only when the program runs"
    label: ClassVar[str] = "needs a number while tracing"
    help: ClassVar[str] = (
        "compute with jax.numpy (jnp.sqrt for math.sqrt, x.astype(float) for float(x)), "
        "or make the argument static (static_argnums)"
    )
    what: str


class LeakedTracerError(DiastaseError, jax.errors.UnexpectedTracerError):
    """A traced value outlived the function that it was traced in, or came in from another trace.

    It was stored in a list, a global or an attribute, or belongs to a function that JAX is tracing
    around this one; or a function with rules of its own for derivatives (`jax.custom_jvp`) is
    defined in the body of a loop, and closes over its values, of which there are others when the
    loop is differentiated. Return it from the function, or pass it as an argument.

    Example:
        >>> from diastase import qjit
        >>> kept = []
        >>> qjit(kept.append)(1.0)
        >>> qjit(lambda x: x + kept[0])(1.0)
        Traceback (most recent call last):
        ...
        diastase.capture.tracer_errors.LeakedTracerError: A traced value was used outside of...

    """

    title: ClassVar[str] = "A traced value was used outside of its function"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = "return such values from the function, or pass them as arguments"
    what: str


def refuse_tracers(captured: Sequence[Any]) -> None:
    """Raise the error where a function has captured a value of another trace."""
    for value in captured:
        if isinstance(value, Tracer):
            what = f"a value of type {value.aval.str_short()} belongs to another trace"
            raise LeakedTracerError(what=what, span=user_span())


class DeepNestingError(DiastaseError, RecursionError):
    """Functions call each other deeper than Python allows, while a program is traced.

    Each branch within a branch takes some of Python's frames, here as in JAX, of which there are a
    thousand; a function that calls itself without an end takes all. Write a chain of conditions as
    one `switch`, repetition as a loop, or allow more frames by `sys.setrecursionlimit`.

    Example:
        >>> from diastase import qjit
        >>> def endless(x):
        ...     return endless(x + 1)
        >>> qjit(endless)(1)
        Traceback (most recent call last):
        ...
        diastase.capture.tracer_errors.DeepNestingError: Nested too deeply: ...

    """

    title: ClassVar[str] = "Nested too deeply"
    message: ClassVar[str] = (
        "functions, loops or branches within each other take more than the {limit} frames that "
        "Python allows"
    )
    label: ClassVar[str] = "the innermost line"
    help: ClassVar[str] = (
        "write a chain of conditions as one switch, and what repeats as a loop; "
        "sys.setrecursionlimit allows more, if the nesting has an end"
    )
    limit: int
