"""What holds while control flow is traced, in this thread: `staged` and what goes with it.

`attempt` is for loops that Python could unroll: if tracing one fails, whatever it did is undone.
"""

import re
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from types import CellType, FunctionType
from typing import Any

from jax.core import Tracer

from diastase.autograph.staging.errors import ForeignChangeError
from diastase.autograph.staging.mutations import (
    contents_of,
    first_change,
    is_changed_in_place,
    is_shared,
)
from diastase.autograph.staging.variables import Variables, copied, is_undefined
from diastase.capture.context import current_context, current_settings, new_caches
from diastase.capture.pennylane_compat import is_native_outcome
from diastase.capture.regions import current_scope
from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import DiastaseError

_LEAF = re.compile(r"^\w+(\[\d+\])*\['(?P<name>[^']+)'\](\[\d+\])*$")


class _Thread(threading.local):
    depth = 0

    def __init__(self) -> None:
        self.outer_cells: list[CellType] = []


_thread = _Thread()


@contextmanager
def staged() -> Generator[None]:
    """Inside, code is traced that may run any number of times, or never."""
    _thread.depth += 1
    try:
        yield
    finally:
        _thread.depth -= 1


def depth() -> int:
    """How many statements on traced values are around."""
    return _thread.depth


def is_active() -> bool:
    """Whether control flow is that of a program: one is being traced, and it is not disabled."""
    return current_context() is not None and not current_settings().without_autograph


def is_undecided(value: Any) -> bool:
    """Whether Python cannot branch on a value."""
    return is_active() and (isinstance(value, Tracer) or is_native_outcome(value))


@contextmanager
def nothing_else_changes(
    block: Callable[..., Any], variables: Variables, originals: Sequence[Any] = ()
) -> Generator[None]:
    """Refuse a block that changes lists or objects other than the values of its variables.

    It is traced once, or several times: the changes would be made then, not when it runs. What a
    block changed is undone in any case, also where tracing it fails: Python may run it then.

    The variables have copies of their `originals`, in which nothing has two names.
    """
    given = variables.get()
    before, copies = contents_of(block, given), copied(given)
    shared = is_shared(originals, before)
    end, change = given, None
    try:
        yield
        end = variables.get()
    finally:
        variables.set(given)
        change = first_change(before) or _first_outer_change(variables, given, end)
        variables.set(end)
    if change is None and is_changed_in_place(given, copies):
        if shared or is_shared(end, []):
            change = "a list or dictionary with two names"
    if change is not None:
        raise ForeignChangeError(what=change, span=user_span())


@contextmanager
def variables_around(function: FunctionType) -> Generator[None]:
    """Inside, a function runs that was made outside of the program: so were its free variables."""
    cells, count = _thread.outer_cells, len(_thread.outer_cells)
    cells.extend(function.__closure__ or ())
    try:
        yield
    finally:
        del cells[count:]


def _first_outer_change(
    variables: Variables, given: Sequence[Any], end: Sequence[Any]
) -> str | None:
    """The first variable with another value that stays when the program has been traced."""
    changed = {
        name
        for name, first, last in zip(variables.names, given, end, strict=True)
        if first is not last and not (is_undefined(first) and is_undefined(last))
    }
    if not changed:
        return None
    code, closure = variables.set.__code__, variables.set.__closure__ or ()
    is_outer = {name: True for name in code.co_names}
    for name, cell in zip(code.co_freevars, closure, strict=True):
        is_outer[name] = any(cell is other for other in _thread.outer_cells)
    outer = (name for name in changed if is_outer.get(name.partition(".")[0]))  # `state.count`
    return min(outer, default=None)


@contextmanager
def named_as_in(names: Sequence[str], branches: Sequence[str] = ()) -> Generator[None]:
    """Errors about carried values and results of branches name the variables."""
    try:
        yield
    except DiastaseError as error:
        fields: Any = error
        found = _LEAF.match(getattr(error, "leaf", None) or "")
        if found is not None and found["name"] in names:
            fields.leaf = in_words(found["name"])
        if branches and hasattr(error, "first_type"):
            fields.first, fields.other = branches
        raise


@contextmanager
def attempt() -> Generator[None]:
    """Inside, something is traced; if that fails, the program is as it was before."""
    scope, context = current_scope(), current_context()
    assert context is not None
    forget_assumptions = context.dimensions.assumptions.undo()
    with ExitStack() as stack:
        stack.enter_context(new_caches())
        if scope is not None:
            stack.enter_context(scope.trial(if_it_fails=True))
        try:
            yield
        except Exception:
            forget_assumptions()
            raise


def in_words(variable: str) -> str:
    """A variable as the user knows it."""
    return "the returned value" if variable.startswith("retval_") else f"'{variable}'"
