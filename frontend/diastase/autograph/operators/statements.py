"""`if`, `for`, `while`, `assert`, `raise`, item assignment: Python's, or those of a program.

Each is called by converted functions (`ag__`). A loop that Python could run, and that fails to be
traced, is unrolled with a warning. What an `assert` or `raise` in a branch that may not be taken
says is checked when the program runs.
"""

import operator
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from malt.operators.variables import Undefined, UndefinedReturnValue

from diastase.autograph.operators.control_flow import choose, loop_over, loop_while
from diastase.autograph.staging.errors import (
    FreeArrayError,
    LoopAttemptError,
    is_strict,
    warn_or_refuse,
)
from diastase.autograph.staging.items import items_of, spend
from diastase.autograph.staging.mutations import contents_of, first_change
from diastase.autograph.staging.staging import attempt, depth, is_active, is_undecided
from diastase.autograph.staging.variables import Variables, has_tracer, is_array, is_traced, plain
from diastase.capture.context import current_settings
from diastase.primitives.checks import assert_holds, require
from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import InternalError

Block = Callable[[], Any]


def if_stmt(
    condition: Any,
    body: Block,
    orelse: Block,
    get: Callable[[], tuple[Any, ...]],
    set_: Callable[[tuple[Any, ...]], None],
    names: tuple[str, ...],
    count: int,
) -> None:
    """`if`; the first `count` variables are used afterwards."""
    if is_undecided(condition):
        choose(condition, (body, orelse), Variables(names, get, set_), count)
    elif condition:
        body()
    else:
        orelse()


def if_exp(condition: Any, if_true: Block, if_false: Block) -> Any:
    """`a if condition else b`."""
    if not is_undecided(condition):
        return if_true() if condition else if_false()
    value: Any = Undefined("value")

    def put(values: tuple[Any, ...]) -> None:
        nonlocal value
        (value,) = values

    variables = Variables(("the value of the expression",), lambda: (value,), put)
    choose(condition, (lambda: put((if_true(),)), lambda: put((if_false(),))), variables, 1)
    return value


def for_stmt(
    iterated: Any,
    test: Block | None,
    body: Callable[[Any], None],
    get: Callable[[], tuple[Any, ...]],
    set_: Callable[[tuple[Any, ...]], None],
    names: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    """`for`; it goes on as long as `test` holds, which `break` and `return` make fail."""
    items = items_of(iterated) if is_active() else None
    if items is None and is_active() and is_strict():
        text = f"Could not convert the iteration target {iterated!r} to array"
        warn_or_refuse(TypeError(text), text, user_span())
    variables = Variables(names, get, set_)
    if items is None:
        _for_in_python(iterated, test, body)
        return

    def trace() -> None:
        loop_over(items, test, body, variables)
        spend(iterated, wholly=test is None)

    if items.known_length is None:
        trace()
    elif items.known_length:
        in_python = lambda: _for_in_python(iterated, test, body)  # noqa: E731
        _loop_or_unroll("for", body, trace, in_python, variables)


def while_stmt(
    test: Block,
    body: Block,
    get: Callable[[], tuple[Any, ...]],
    set_: Callable[[tuple[Any, ...]], None],
    names: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    """`while`; its condition is computed as often as Python would."""
    variables = Variables(names, get, set_)
    holds = test()
    if is_active() and is_traced(holds):
        loop_while(holds, test, body, variables)
    elif is_active() and isinstance(holds, bool | np.bool_) and holds:
        _loop_or_unroll(
            "while",
            body,
            lambda: loop_while(True, test, body, variables),
            lambda: _while_in_python(test, body, variables),
            variables,
        )
    elif holds:
        _while_in_python(test, body, variables)


def _for_in_python(iterated: Any, test: Block | None, body: Callable[[Any], None]) -> None:
    for item in iterated:
        if test is not None and not _known(test()):
            break
        body(item)


def _while_in_python(test: Block, body: Block, variables: Variables) -> None:
    """Go on in Python as long as it is known that the loop does."""
    holds: Any = True
    while not is_traced(holds) and holds:
        body()
        holds = test()
    if is_traced(holds):
        loop_while(holds, test, body, variables)


def _known(holds: Any) -> Any:
    if is_active() and is_traced(holds):
        raise LoopAttemptError(span=user_span())
    return holds


def _loop_or_unroll(
    kind: str, body: Callable[..., None], trace: Block, unroll: Block, variables: Variables
) -> None:
    """Trace a loop; where that fails, run it in Python, and say so."""
    before = variables.get()
    sets_attributes = any("." in name for name in variables.names)  # a property may change more
    contents = contents_of(body, before) if sets_attributes else []
    try:
        with attempt():
            trace()
    except (RecursionError, InternalError):
        raise
    except Exception as error:
        line = user_span()
        variables.set(before)
        first_change(contents)
        if is_strict():
            warn_or_refuse(error, _failure(kind, error), line)
        unroll()
        warn_or_refuse(error, _failure(kind, error), line)


def _failure(kind: str, error: Exception) -> str:
    return (
        f"Tracing of an AutoGraph converted {kind} loop failed with an exception:\n"
        f"  {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}\n"
        "The loop is unrolled instead: Python runs it while the function is traced. If that is "
        "not what you want, make sure that the (now traced) loop variable is not used in ways that "
        "need its value, as by indexing a Python list with it: wrap the list into an array. "
        "If it is, you may safely ignore this warning."
    )


_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv, "Mod": operator.imod, "Pow": operator.ipow,
    "MatMult": operator.imatmul, "BitAnd": operator.iand, "BitOr": operator.ior,
    "BitXor": operator.ixor, "LShift": operator.ilshift, "RShift": operator.irshift,
}  # fmt: skip


def set_item(base: Any, path: tuple[Any, ...], value: Any, in_place: bool = False) -> Any:
    """`base[i][j] = value`: `base` with the value in it, a new one if it is an array of JAX."""
    return _changed(base, path, lambda _: value, in_place)


def update_item(
    base: Any, path: tuple[Any, ...], name: str, value: Any, in_place: bool = False
) -> Any:
    """`base[i][j] += value` and the like."""
    return _changed(base, path, lambda item: _IN_PLACE[name](item(), value), in_place)


def _changed(
    base: Any, path: tuple[Any, ...], new: Callable[[Callable[[], Any]], Any], in_place: bool
) -> Any:
    key, *rest = path
    if rest:
        inner = base[key]
        value = _changed(inner, tuple(rest), new, False)
        if value is inner:
            return base
    else:
        value = new(lambda: base[key])
    if isinstance(base, np.ndarray) and is_array(base) and has_tracer((key, value)):
        base = jnp.asarray(base)
    if not isinstance(base, jax.Array):
        base[key] = value
        return base
    if in_place:
        raise FreeArrayError(span=user_span())
    return base.at[key].set(value)


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


class FunctionScope:
    """What surrounds the body of a converted function."""

    def __init__(self, function: str, name: str, options: Any) -> None:
        self.function, self.name = function, name

    def __enter__(self) -> "FunctionScope":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def ret(self, value: Any, did_return: Any) -> Any:
        """What the function returns; every path has come to a `return` or raised."""
        if isinstance(value, UndefinedReturnValue):
            return None
        return plain(value)


def with_function_scope(body: Callable[[Any], Any], name: str, options: Any) -> Any:
    """Evaluate the body of a lambda."""
    return body(FunctionScope("lambda", name, options))
