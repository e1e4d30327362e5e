"""JAX's errors, turned into ours at the boundary of a trace: `jax_failures_as_ours`.

In: an error that JAX, PennyLane or Python has raised while a program is traced: about tracers,
sizes, calls that do not fit, derivatives and batches that there are not. Out: an error of ours,
with the user's line: the innermost frame of the traceback that is the user's. Errors of ours, and
any others, pass unchanged.

The trap: JAX has no classes for much of this. Such errors are told apart by their text, which a
test compares with what JAX says now.
"""

import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType

import jax
from jax.core import Tracer
from jax.errors import InconclusiveDimensionOperation
from numpy.exceptions import AxisError

from diastase.capture.context import current_context
from diastase.capture.tracer_errors import (
    DeepNestingError,
    LeakedTracerError,
    RefusedCallError,
    TracedArrayError,
    TracedConditionError,
    TracedIndexError,
    TracedValueError,
)
from diastase.dynamic_shapes.errors import (
    LaxShapesError,
    UndecidableDimensionError,
    UnknownSizesDifferError,
    UnknownSizeUnsupportedError,
)
from diastase.primitives.errors import NotTransformableError, TransformationUseError
from diastase_mlir.diagnostics import is_of_a_library, is_user_file, user_span
from diastase_runtime.errors import DiastaseError, Span
from diastase_toolchain import private_api

_TYPE = re.compile(r"traced array with shape ([^\s.]+)")
_LAX_SHAPES = re.compile(r"The (input carry|output of) .* has type .*, so the shapes do not match")
_LOOPS = (
    "diastase.for_loop and diastase.while_loop may change sizes, with allow_array_resizing=True "
    "also those known while tracing"
)
_WRITTEN = re.compile(r"unsupported format string passed to \w*Tracer")
_NO_INDEX = "Only integer scalar arrays can be converted to a scalar index"
_NUMBERED = (
    "index a jnp array by an integer, jnp.array([a, b])[value.astype(int)], or choose with "
    "jnp.where(flag, b, a)"
)
_CHOSEN = (
    "index a jnp array, choose with jnp.where or diastase.switch, or make the argument static "
    "(static_argnums)"
)
_PLAIN = (TypeError, ValueError, IndexError, AxisError)
"""Classes that say nothing more than their message does."""

_BRANCHES = "branches of diastase.cond and diastase.switch may return different sizes"


def _type_name(error: Exception) -> str:
    """The type that JAX's message names: `bool[]`, `float64[3]`."""
    found = _TYPE.search(str(error))
    return found.group(1) if found else "a traced array"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _of_a_library(error: Exception) -> DiastaseError | None:
    """What JAX or PennyLane say of a call that does not fit, in errors of Python's own classes."""
    if _WRITTEN.search(str(error)):
        return TracedValueError(what="a value that a format string writes")
    if _NO_INDEX in str(error):
        return TracedIndexError(what="a value that is no integer", instead=_NUMBERED)
    if type(error) in _PLAIN and is_of_a_library(_raising_file(error)):
        message, made = str(error).strip(), _made_at(error)
        return RefusedCallError(what=message if message.startswith(made) else made + message)
    return None


def _of_a_key(error: Exception) -> DiastaseError | None:
    """A traced value as the key of a dictionary."""
    if error.args and isinstance(error.args[0], Tracer):
        what = f"a key of type {error.args[0].aval.str_short()}"
        return TracedIndexError(what=what, instead=_CHOSEN)
    return None


def _of_python(error: Exception) -> DiastaseError | None:
    return _about_sizes(error) or _of_a_library(error)


def _about_sizes(error: Exception) -> DiastaseError | None:
    """What JAX says of symbolic sizes in errors of Python's own classes."""
    if "'_DimExpr'" in str(error):  # `range(a.shape[0])`, `float(a.shape[0])`
        return TracedIndexError(what="a size")
    if (unsupported := _of_unknown_size(error)) is not None:
        return unsupported
    shapes = _LAX_SHAPES.search(str(error))
    if shapes:
        is_loop = "carry" in _first_line(error)
        return LaxShapesError(what=shapes.group(0), instead=_LOOPS if is_loop else _BRANCHES)
    if _shows_a_symbol(str(error)) and not _raised_by_the_user(error):
        return UnknownSizesDifferError(what=_first_line(error))
    return None


def _shows_a_symbol(message: str) -> bool:
    """Whether there is a shape with a symbol of this trace: `(n, 3)`, `f64[2*n]`."""
    context = current_context()
    names = "|".join(map(re.escape, context.dimensions.symbols)) if context else ""
    return bool(names) and bool(re.search(rf"[(\[]([^()\[\]]*\W)?({names})\b", message))


def _of_unknown_size(error: Exception) -> DiastaseError | None:
    if "polymorphi" not in str(error) or _raised_by_the_user(error):
        return None
    return UnknownSizeUnsupportedError(what=_first_line(error))


def _raised_by_the_user(error: Exception) -> bool:
    """Whether the user's own code raised it."""
    file = _raising_file(error)
    return file is not None and is_user_file(file)


def _raising_file(error: Exception) -> str | None:
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return None if traceback is None else traceback.tb_frame.f_code.co_filename


def _made_at(error: Exception) -> str:
    """The class of a library's that the user's line makes an object of, for a message."""
    traceback, made = error.__traceback__, ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_file(code.co_filename):
            made = ""
        elif not made and code.co_name == "__init__" and is_of_a_library(code.co_filename):
            made = f"{type(traceback.tb_frame.f_locals.get('self')).__name__}: "
        traceback = traceback.tb_next
    return made


# Subclasses before their bases: the first entry that fits is used.
_FAILURES: Mapping[type[Exception], Callable[[Exception], DiastaseError | None]] = {
    jax.errors.TracerBoolConversionError: lambda e: TracedConditionError(type_name=_type_name(e)),
    jax.errors.TracerIntegerConversionError: lambda e: TracedIndexError(
        what=f"a value of type {_type_name(e)}"
    ),
    jax.errors.TracerArrayConversionError: lambda e: TracedArrayError(type_name=_type_name(e)),
    jax.errors.ConcretizationTypeError: lambda e: TracedValueError(
        what=f"a value of type {_type_name(e)}"
    ),
    jax.errors.UnexpectedTracerError: lambda e: LeakedTracerError(what=_first_line(e)),
    InconclusiveDimensionOperation: lambda e: UndecidableDimensionError(comparison=_first_line(e)),
    TypeError: _of_python,
    ValueError: _of_python,
    IndexError: _of_a_library,
    KeyError: _of_a_key,
    NotImplementedError: _of_unknown_size,
    RecursionError: lambda _: DeepNestingError(limit=sys.getrecursionlimit()),
    AttributeError: lambda _: None,  # only about derivatives
}


def user_line(traceback: TracebackType | None) -> Span | None:
    """The innermost line of the user's in a traceback."""
    span = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_file(code.co_filename):
            span = Span(code.co_filename, traceback.tb_lineno, code.co_qualname)
        traceback = traceback.tb_next
    return span


def _line_of(error: Exception, line: Callable[[TracebackType | None], Span | None]) -> Span | None:
    """The user's line of an error; or of what JAX gives as its cause, the place of an operator."""
    span = line(error.__traceback__)
    if span is None and error.__cause__ is not None:
        span = line(error.__cause__.__traceback__)
    return span


@contextmanager
def jax_failures_as_ours(
    line: Callable[[TracebackType | None], Span | None] = user_line,
) -> Generator[None]:
    """Raise an error of ours for each of JAX's about tracers; `line` finds the user's."""
    try:
        yield
    except DiastaseError as error:
        if error.span is None:
            error.span = _line_of(error, line)
        raise
    except tuple(_FAILURES) as error:
        translate = next(make for kind, make in _FAILURES.items() if isinstance(error, kind))
        ours = derivative_failure(error) or translate(error)
        for library in private_api.libraries:  # may have refused what we would have done
            for missing in library.disabled.values():
                (ours or error).add_note(str(missing))
        if ours is None:
            raise
        ours.span = _line_of(error, line)
        raise ours from error


@contextmanager
def failures_at(span: Span | None) -> Generator[None]:
    """Raise errors as ours, about a line that is known: that of an equation recorded before."""
    with jax_failures_as_ours(lambda _: span):
        try:
            yield
        except DiastaseError as error:
            if span is not None and error.span in (None, user_span()):
                error.span = span
            raise


_ONE_LOOP = (
    "values and their derivatives are computed in one loop of a derivative that is given by hand, "
    "or in a reduction with an operation of its own; compute each by itself"
)
_BY_HAND = (
    "JAX cannot look into Python: give it a derivative, by .fwd and .bwd of "
    "diastase.pure_callback, or with jax.custom_jvp or custom_vjp"
)
_NONE = "JAX has none: a derivative can be given with jax.custom_jvp or jax.custom_vjp"

_MISSING: Sequence[tuple[str, str, str, str]] = (
    (r"Differentiation rule for '(.+?)' not implemented", r"\1", "jvp", _NONE),
    (r"Transpose rule .*for '(.+?)' not implemented", r"\1", "reverse-mode", _NONE),
    (r"Batching rule for '(.+?)' not implemented", r"\1", "vmap", "JAX has none"),
    (r"Pure callbacks do not support", "pure_callback", "jvp", _BY_HAND),
    (r"IO callbacks do not support", "io_callback", "jvp", _BY_HAND),
    (
        r"No JVP defined for custom_jvp function (\S+) using",
        r"the jax.custom_jvp function \1",
        "jvp",
        "none was defined, with defjvp",
    ),
    (
        r"No VJP defined for custom_vjp function (\S+) using",
        r"the jax.custom_vjp function \1",
        "reverse-mode",
        "none was defined, with defvjp",
    ),
    (
        r"can't apply forward-mode .* to a custom_vjp function",
        "a jax.custom_vjp function",
        "jvp",
        "jax.custom_vjp gives reverse mode only, and once: jax.custom_jvp gives both",
    ),
    (
        r"scatter_mul gradients are only implemented if",
        "x.at[indices].multiply(values)",
        "jvp",
        "indices may be equal; say unique_indices=True if they are not",
    ),
    ("Linearization failed to produce known values", "a value", "reverse-mode", _ONE_LOOP),
    (
        "Reverse-mode differentiation does not work for lax.while_loop",
        "a loop",
        "reverse-mode",
        _ONE_LOOP,
    ),
)
"""What JAX says, the construct, the rule that it lacks and why."""

_ABOUT_RULES = re.compile("derivative|differentia|gradient|JVP|transpos|vmap|batching", re.I)
_USE = re.compile(
    r"Gradient only defined for scalar-output"
    r"|\w+ (with holomorphic=True )?requires (real|complex|inputs|outputs)"
    r"|differentiating with respect to argnums"
    r"|expected function with aux output"
    r"|primal and tangent arguments to jax"
    r"|jvp called with different primal and tangent"
    r"|unexpected JAX type .* for argument to VJP"
    r"|[Tt]he function returned by `?jax.vjp"
    r"|(at )?vmap (got|in_axes|out_axes|was requested|must have)"
    r"|Custom (JVP|VJP) "
)


def derivative_failure(error: Exception) -> DiastaseError | None:
    """An error of JAX about a derivative or a batch, as ours."""
    text = str(error).strip()
    for said, construct, transformation, reason in _MISSING:
        if found := re.search(said, text):
            return NotTransformableError(
                construct=found.expand(construct), transformation=transformation, reason=reason
            )
    if isinstance(error, TypeError | ValueError) and _USE.match(text):
        return TransformationUseError(what=_on_one_line(text))
    if isinstance(error, NotImplementedError) and _ABOUT_RULES.search(text):
        return NotTransformableError(
            construct="an operation of JAX", transformation="such", reason=_on_one_line(text)
        )
    return None


def _on_one_line(text: str) -> str:
    return " ".join(line.strip(" *") for line in text.splitlines())
