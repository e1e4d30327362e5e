"""What the frontend refuses: errors of tracing, of control flow and of the public API.

Wording lives here, raise sites pass data; a class's docstring is its help page. Errors that stand
for one of JAX's also derive from JAX's class, so code that catches those goes on working.
"""

from typing import ClassVar

import jax
from jax.errors import InconclusiveDimensionOperation

from diastase_runtime.errors import CompileError, DiastaseError, DifferentiableCompileError

# --- tracing -------------------------------------------------------------------------------------


class TracedConditionError(DiastaseError, jax.errors.TracerBoolConversionError):
    """Python's `if`, `while`, `and`, `or`, `not` or `assert` on a value known only at run time.

    While a function is being traced, `x > 0` is not True or False but a value of the compiled
    program, so Python cannot branch on it. Branch in the program instead: `diastase.cond`,
    `diastase.while_loop`, or `jnp.where(x > 0, a, b)` to choose between values. If the argument
    is the same for whole runs, make it static (`static_argnums`).
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

    It was stored in a list, a global or an attribute, or belongs to a function that JAX is
    tracing around this one. Return it from the function, or pass it as an argument.
    """

    title: ClassVar[str] = "A traced value was used outside of its function"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = "return such values from the function, or pass them as arguments"
    what: str


class DeepNestingError(DiastaseError, RecursionError):
    """Functions call each other deeper than Python allows, while a program is traced.

    Each branch within a branch takes some of Python's frames, here as in JAX, of which there are a
    thousand; a function that calls itself without an end takes all. Write a chain of conditions as
    one `switch`, repetition as a loop, or allow more frames by `sys.setrecursionlimit`.
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


class NotTransformableError(CompileError, NotImplementedError):
    """A construct of diastase under a JAX transformation for which it has no rule (yet)."""

    title: ClassVar[str] = "Not differentiable or batchable here"
    message: ClassVar[str] = "{construct} has no {transformation} rule: {reason}"
    label: ClassVar[str] = "transformed here"
    construct: str
    transformation: str
    reason: str


class TransformationUseError(DiastaseError, TypeError, ValueError):
    """`jax.grad`, `jax.jvp`, `jax.vmap`, … inside of a program, of what they do not take.

    The message is JAX's: a gradient of more than a number, an integer argument, axes or sizes that
    do not fit. A rule that is given by hand and returns other types than it must is among them.
    """

    title: ClassVar[str] = "A transformation that does not fit"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "used here"
    what: str


class NoDerivativeError(NotTransformableError, DifferentiableCompileError):
    """A QNode is differentiated, and by its `diff_method` something in it has no derivative.

    Outcomes and samples jump, so no method has a derivative of them: return an expectation value,
    a variance or probabilities. An observable or a state that is not to be differentiated is kept
    out by `jax.lax.stop_gradient` on the arguments that it depends on.
    """

    title: ClassVar[str] = "Not differentiable"
    message: ClassVar[str] = "{construct} has no derivative: {reason}"
    label: ClassVar[str] = "is differentiated"
    transformation: str = "jvp"


# --- sizes known only at run time ----------------------------------------------------------------


class UndecidableDimensionError(DiastaseError, InconclusiveDimensionOperation):
    """A comparison of sizes whose outcome depends on sizes that are known only at run time.

    Python code (yours, or a library function's) asked, for example, whether `n >= 2` while
    tracing, and either answer would be wrong for some `n`. Compare the values instead of the
    sizes and branch in the program (`diastase.cond`), use an operation that needs no decision,
    or make the size static (`static_argnums`).
    """

    title: ClassVar[str] = "Sizes cannot be compared while tracing"
    message: ClassVar[str] = "{comparison}"
    label: ClassVar[str] = "needs the answer while tracing"
    help: ClassVar[str] = (
        "sizes d0, d1, ... are known only when the program runs; make this one static "
        "(static_argnums), or branch in the program (diastase.cond)"
    )
    comparison: str


class UnknownSizesDifferError(DiastaseError, TypeError, ValueError):
    """Arrays that must have equal sizes, of which one is known only at run time.

    `jnp.ones(n) + x` needs `x.shape == (n,)`, and while tracing `n` and 3 are different sizes, as
    are `n` and `m`, even if they turn out to be equal when the program runs. Use one size for
    both: `jnp.ones(x.shape[0]) + x`, or make the size static (`static_argnums`).
    """

    title: ClassVar[str] = "Sizes are not known to be equal"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "needs sizes that fit each other"
    help: ClassVar[str] = (
        "sizes d0, d1, ... are known only when the program runs; use the same one for both "
        "(x.shape[0] in place of n), or make it static (static_argnums)"
    )
    what: str


class UnknownSizeUnsupportedError(CompileError, NotImplementedError):
    """An operation of JAX that works only on arrays whose sizes are known while tracing.

    Make the size static (`static_argnums`), or compute with an array of a fixed size, of which a
    mask says what counts.
    """

    title: ClassVar[str] = "A size must be known while tracing"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "needs a known size"
    help: ClassVar[str] = "make the size static (static_argnums)"
    what: str


class SizeEscapesError(DiastaseError, TypeError):
    """An array whose size is computed inside a loop or branch is used outside of it.

    The size has no value out there: the body may run many times, or never. Compute the size
    outside and use it inside, or return arrays whose sizes do not depend on the body.
    """

    title: ClassVar[str] = "A size does not exist outside of its loop or branch"
    message: ClassVar[str] = "the type {type_name} has a size that is computed inside {construct}"
    label: ClassVar[str] = "its result has this type"
    help: ClassVar[str] = "compute the size before {construct} and use it inside"
    type_name: str
    construct: str


class MappedSizeError(DiastaseError, ValueError):
    """A size that differs between the elements of a `jax.vmap`.

    The arrays of one batch must have one shape. Map over arrays of the largest size and mask, or
    loop with `diastase.for_loop`.
    """

    title: ClassVar[str] = "A size differs between the elements of a vmap"
    message: ClassVar[str] = "an argument that vmap maps over is used as a size"
    label: ClassVar[str] = "one shape for the whole batch"
    help: ClassVar[str] = "use the largest size and jnp.where, or diastase.for_loop"
