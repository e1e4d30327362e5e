"""`for_loop`, `while_loop`, `cond` and `switch`.

Inside a compiled function each becomes one construct of the program: bodies and branches are
traced, not run. Anywhere else they are plain Python, without any constraint on types.

The trap: while PennyLane records a tape there is no place for them. One that applies no operator is
traced as ever; one that does is run in Python, if what it depends on is known, and refused if it is
traced.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.core import Tracer

from diastase.capture.context import is_tracing
from diastase.capture.control_flow.branches import Branch, case_index, chain_index, trace_switch
from diastase.capture.control_flow.errors import NotCalledError, ResizingOptionsError
from diastase.capture.control_flow.loops import (
    normalise_state,
    single_or_tuple,
    trace_for_loop,
    trace_while_loop,
)
from diastase.capture.device_errors import TapeRecordingError
from diastase.capture.pennylane_compat import (
    is_native_outcome,
    is_recording,
    native_cond,
    withdraw_operators,
    withdraw_since,
)
from diastase.capture.pennylane_compat.operators import AppliedFunction, puts_off, recorded
from diastase.capture.regions import current_scope
from diastase_mlir.diagnostics import user_span

Function = Callable[..., Any]


class ControlFlow:
    """A loop or a choice, to be called; `operation` is what the last call has applied."""

    def __init__(self, construct: str, function: Function) -> None:
        self._construct, self._function = construct, function
        self._arguments: tuple[tuple[Any, ...], dict[str, Any]] | None = None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run it; in a tape that the user has opened, when that is applied."""
        self._arguments = args, keywords
        if not args and not keywords and is_tracing() and current_scope() and puts_off():
            return self._put_off()
        return self._function(*args, **keywords)

    def _put_off(self) -> None:
        AppliedFunction(self._construct, self._function)

    @property
    def operation(self) -> AppliedFunction:
        """What the last call has applied, as PennyLane's and Catalyst's users look at it."""
        if self._arguments is None:
            raise NotCalledError(construct=self._construct, span=user_span())
        args, keywords = self._arguments
        return recorded(self._construct, lambda: self._function(*args, **keywords))


def _traced_or_run(
    construct: str, decides: Sequence[Any], trace: Callable[[], Any], run: Callable[[], Any]
) -> Any:
    """Trace it inside of a program; run it in Python anywhere else, or if it fills a tape.

    `decides`: the values that say what is done. Whether a tape is filled is seen by tracing: the
    operators that this leaves in the tape are taken out again.
    """
    if not is_tracing():
        return run()
    if current_scope() is not None or not is_recording():
        return trace()
    with withdraw_since() as applied:
        results = trace()
    if not applied:
        return results
    if any(isinstance(value, Tracer) for value in decides):
        raise _untaped(construct)
    return run()


def _untaped(construct: str) -> TapeRecordingError:
    what = f"a {construct} around operators that depends on traced values"
    return TapeRecordingError(what=what, span=user_span())


def for_loop(
    lower_bound: Any,
    upper_bound: Any,
    step: Any,
    allow_array_resizing: bool | None = None,
    *,
    experimental_preserve_dimensions: bool | None = None,
) -> Callable[[Function], Function]:
    """Loop over `range(lower_bound, upper_bound, step)`, carrying values from one to the next.

    The decorated body takes the index and the carried values, and returns the new values: the
    value itself if there is one, a tuple if there are several, nothing if there are none. Calling
    the result with the initial values runs the loop and returns the final ones. Bounds and step
    may be traced; a negative step counts down.

    Arrays may change their sizes from one iteration to the next. By default only sizes known at
    run time may (others are compiled in), and arrays that come in with the same size keep a
    common size. With `allow_array_resizing=True`, or `experimental_preserve_dimensions=False`,
    which is the same, any size may change, each for itself.

    >>> from diastase import for_loop, qjit
    >>> @qjit
    ... def power(x: float, n: int):
    ...     @for_loop(0, n, 1)
    ...     def loop(i, product):
    ...         return product * x
    ...     return loop(1.0)
    >>> float(power(2.0, 10))
    1024.0

    Bounds and step are integers of shape `()`. Carried values are arrays or pytrees of them; where
    a dtype changes in the body, the carry has the dtype to which both are promoted.
    `LoopBoundError` and `CarryStructureError`, which are `TypeError`s, if that is not so;
    `ZeroStepError`, a `ValueError`, when the program runs, for a step of zero. Outside of compiled
    functions it is Python's loop.
    """
    resizes = _resizes(allow_array_resizing, experimental_preserve_dimensions)
    bounds = (lower_bound, upper_bound, step)

    def decorate(body: Function) -> Function:
        def loop(*state: Any) -> Any:
            return _traced_or_run(
                "for_loop",
                bounds,
                lambda: trace_for_loop(bounds, body, state, resizes),
                lambda: _python_for(bounds, body, state),
            )

        return ControlFlow("for_loop", loop)

    return decorate


def _resizes(resizes: bool | None, preserves: bool | None) -> bool:
    """Whether any size may change, by the two names that the option has."""
    if resizes is not None and resizes == preserves:
        raise ResizingOptionsError(flag=resizes, span=user_span())
    return bool(resizes) or preserves is False


def _python_for(bounds: tuple[Any, Any, Any], body: Function, state: tuple[Any, ...]) -> Any:
    for index in range(*bounds):
        state = normalise_state(body(index, *state), len(state), "for_loop")
    return single_or_tuple(state)


def while_loop(
    cond_fn: Function,
    allow_array_resizing: bool | None = None,
    *,
    experimental_preserve_dimensions: bool | None = None,
) -> Callable[[Function], Function]:
    """Loop while `cond_fn(*values)` holds, carrying values, and changing sizes, as `for_loop` does.

    >>> from diastase import qjit, while_loop
    >>> @qjit
    ... def halvings(x: float):
    ...     @while_loop(lambda x, count: x > 1.0)
    ...     def loop(x, count):
    ...         return x / 2, count + 1
    ...     return loop(x, 0)[1]
    >>> int(halvings(10.0))
    4

    The condition is one boolean of shape `()`; `LoopConditionError`, a `TypeError`, if it is not.
    Carried values, and calls outside of compiled functions, are as in `for_loop`.
    """
    resizes = _resizes(allow_array_resizing, experimental_preserve_dimensions)

    def decorate(body: Function) -> Function:
        def loop(*state: Any) -> Any:
            return _traced_or_run(
                "while_loop",
                (),
                lambda: trace_while_loop(cond_fn, body, state, resizes),
                lambda: _python_while(cond_fn, body, state),
            )

        return ControlFlow("while_loop", loop)

    return decorate


def _python_while(cond_fn: Function, body: Function, state: tuple[Any, ...]) -> Any:
    while True:
        holds = cond_fn(*state)
        if isinstance(holds, Tracer):
            raise _untaped("while_loop")
        if not holds:
            return single_or_tuple(state)
        state = normalise_state(body(*state), len(state), "while_loop")


def cond(pred: Any) -> Callable[[Function], "Conditional"]:
    """Run the decorated function if `pred` holds; see `else_if` and `otherwise` of the result.

    All branches are traced and return the same structure; dtypes are promoted to a common one,
    sizes may differ. Without `otherwise` the branches return nothing. Where `pred` is True or False
    while the function is traced, the branch that is never run is not traced.

    >>> from diastase import cond, qjit
    >>> @qjit
    ... def sign(x: float):
    ...     @cond(x > 0)
    ...     def branch():
    ...         return 1
    ...     @branch.else_if(x < 0)
    ...     def negative():
    ...         return -1
    ...     @branch.otherwise
    ...     def zero():
    ...         return 0
    ...     return branch()
    >>> int(sign(-2.5))
    -1

    `pred` is a boolean or a number of shape `()`, which holds unless it is zero. `TypeError` if it
    is not (`PredicateError`), if branches return other structures or ranks (`BranchStructureError`,
    `BranchTypeError`), or something where there is no `otherwise` (`MissingBranchError`). Outside
    of compiled functions it is Python's `if`.
    """
    return lambda function: Conditional(pred, function)


class Conditional(ControlFlow):
    """A chain of branches under construction; calling it runs the first whose predicate holds."""

    def __init__(self, predicate: Any, function: Function):
        self._branches: list[tuple[Any, Function]] = [(predicate, function)]
        self._default: Function | None = None
        super().__init__("cond", self._run)

    def else_if(self, pred: Any) -> Callable[[Function], "Conditional"]:
        """Add a branch for the case that no predicate before holds but this one does."""

        def add(function: Function) -> Conditional:
            self._branches.append((pred, function))
            return self

        return add

    def otherwise(self, function: Function) -> "Conditional":
        """Add the branch for the case that no predicate holds."""
        self._default = function
        return self

    def _run(self, *args: Any, **keywords: Any) -> Any:
        """Run the branch that applies, with these arguments."""
        if any(is_native_outcome(predicate) for predicate, _ in self._branches):
            return native_cond(self._branches, self._default)(*args, **keywords)
        return _traced_or_run(
            "cond",
            [predicate for predicate, _ in self._branches],
            lambda: self._trace(args, keywords),
            lambda: self._choose(args, keywords),
        )

    def _choose(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        for predicate, function in self._branches:
            if predicate:
                return function(*args, **keywords)
        return self._default(*args, **keywords) if self._default is not None else None

    def _trace(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        withdraw_operators(args, keywords)
        names = ["the first branch"]
        names += [f"else_if number {k}" for k in range(1, len(self._branches))]
        branches: list[tuple[str, Any, Function]] = []
        default = self._default
        for name, (predicate, function) in zip(names, self._branches, strict=True):
            if not isinstance(predicate, bool | np.bool_):
                branches.append((name, predicate, function))
            elif predicate:  # what comes after is never run, and may have no end: a recursion
                default = function
                break
        if not branches:
            return default(*args, **keywords) if default is not None else None
        traced = [_branch(name, function, args, keywords) for name, _, function in branches]
        traced.append(_branch("otherwise", default, args, keywords))
        index = chain_index([predicate for _, predicate, _ in branches])
        return trace_switch(index, traced, "cond")


def switch(index_var: Any) -> Callable[[Function], "Switch"]:
    """Choose by an integer: the decorated function is the default, `branch(case)` adds cases.

    Cases are any integers; the default runs where `index_var` equals none of them.

    >>> from diastase import qjit, switch
    >>> @qjit
    ... def scale(index: int, x: float):
    ...     @switch(index)
    ...     def choose():
    ...         return x
    ...     @choose.branch(2)
    ...     def double():
    ...         return 2 * x
    ...     return choose()
    >>> float(scale(2, 1.5)), float(scale(7, 1.5))
    (3.0, 1.5)

    `TypeError` if the index is no integer of shape `()` (`PredicateError`), or if branches return
    other structures or ranks (`BranchStructureError`, `BranchTypeError`).
    """
    return lambda function: Switch(index_var, function)


class Switch(ControlFlow):
    """A choice under construction; calling it runs the case that applies."""

    def __init__(self, index: Any, default: Function):
        self._index = index
        self._default = default
        self._cases: dict[int, Function] = {}
        super().__init__("switch", self._run)

    def branch(self, case: int) -> Callable[[Function], "Switch"]:
        """Add the function for one case."""

        def add(function: Function) -> Switch:
            self._cases[case] = function
            return self

        return add

    def _run(self, *args: Any, **keywords: Any) -> Any:
        """Run the case that applies, with these arguments."""
        return _traced_or_run(
            "switch",
            [self._index],
            lambda: self._trace(args, keywords),
            lambda: self._choose(args, keywords),
        )

    def _choose(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return self._cases.get(int(self._index), self._default)(*args, **keywords)

    def _trace(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        withdraw_operators(args, keywords)
        branches = [
            _branch(f"the branch of case {case}", function, args, keywords)
            for case, function in self._cases.items()
        ]
        branches.append(_branch("the default branch", self._default, args, keywords))
        return trace_switch(case_index(self._index, list(self._cases)), branches, "switch")


def _branch(
    name: str, function: Function | None, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Branch:
    if function is None:
        return Branch(name, lambda: None, is_missing=True)
    return Branch(name, lambda: function(*args, **keywords))
