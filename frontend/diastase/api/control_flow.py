"""`for_loop`, `while_loop`, `cond` and `switch`.

Inside a compiled function each becomes one construct of the program: bodies and branches are
traced, not run. Anywhere else they are plain Python, without any constraint on types.

The trap: while PennyLane records a tape there is no place for them. One that applies no operator is
traced as ever; one that does is run in Python, if what it depends on is known, and refused if it is
traced.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.core import Tracer

from diastase.capture.context import is_tracing
from diastase.capture.control_flow.branches import Branch, case_index, chain_index, trace_switch
from diastase.capture.control_flow.errors import (
    NotCalledError,
    ResizingOptionsError,
    SwitchCaseError,
)
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
        """What the last call has applied, as an operator for a list of PennyLane's decompositions.

        Its `wires` are empty: which gates are applied is known only when the program runs.

        Raises:
            NotCalledError: an `AttributeError`, before the first call.

        """
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
    value itself if there is one, a tuple if there are several, nothing if there are none. Outside
    of compiled functions it is Python's loop.

    Args:
        lower_bound: the first index, an integer of shape `()`, which may be traced.
        upper_bound: an integer of shape `()`, traced or not; it is no index itself.
        step: an integer other than 0; a negative one counts down.
        allow_array_resizing: with True any size of a carried array may change from one iteration
            to the next, each for itself. By default only sizes known at run time may (others are
            compiled in), and arrays that come in with the same size keep a common size.
        experimental_preserve_dimensions: the opposite, under the name that Catalyst gave it.

    Returns:
        A decorator. What it makes is called with the initial values, arrays or pytrees of them, and
        returns the final ones, in their structure; where the body changes a dtype, the carry has
        the dtype to which both are promoted.

    Raises:
        LoopBoundError: a `TypeError`, for bounds and steps that are no integers of shape `()`.
        CarryStructureError: a `TypeError`, if the body returns another structure than it takes.
        CarryTypeError: a `TypeError`, if it returns another rank; `CarrySizeError` for a size.
        ResizingOptionsError: a `ValueError`, if the two options contradict each other.
        ZeroStepError: a `ValueError`, when the program runs, for a step of zero.

    Example:
        >>> from diastase import for_loop, qjit
        >>> @qjit
        ... def power(x: float, n: int):
        ...     @for_loop(0, n, 1)
        ...     def loop(i, product):
        ...         return product * x
        ...     return loop(1.0)
        >>> float(power(2.0, 10))
        1024.0

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
    """Loop while a condition holds, carrying values from one iteration to the next.

    The decorated body takes the carried values, and returns the new ones, as that of `for_loop`.
    Outside of compiled functions it is Python's loop.

    Args:
        cond_fn: takes the carried values and returns one boolean of shape `()`.
        allow_array_resizing: whether sizes of carried arrays may change, as for `for_loop`.
        experimental_preserve_dimensions: the opposite, under the name that Catalyst gave it.

    Returns:
        A decorator. What it makes is called with the initial values and returns the first ones for
        which `cond_fn` does not hold, of the structure, shapes and dtypes that `for_loop` gives.

    Raises:
        LoopConditionError: a `TypeError`, if the condition is not one boolean.
        CarryStructureError: a `TypeError`, if the body returns another structure than it takes.
        CarryTypeError: a `TypeError`, if it returns another rank; `CarrySizeError` for a size.
        ResizingOptionsError: a `ValueError`, if the two options contradict each other.

    Example:
        >>> from diastase import qjit, while_loop
        >>> @qjit
        ... def halvings(x: float):
        ...     @while_loop(lambda x, count: x > 1.0)
        ...     def loop(x, count):
        ...         return x / 2, count + 1
        ...     return loop(x, 0)[1]
        >>> int(halvings(10.0))
        4

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
    """Run the decorated function if a predicate holds; `else_if` and `otherwise` add branches.

    All branches are traced. Where `pred` is True or False while the function is traced, the branch
    that is never run is not. Outside of compiled functions it is Python's `if`.

    Args:
        pred: a boolean or a number of shape `()`, which holds unless it is zero.

    Returns:
        A decorator, which makes a `Conditional`. That is called with the arguments of the branches
        and returns what the branch returns that runs: arrays of the dtypes to which those of all
        branches are promoted. Structures and ranks are the same in all of them, sizes may differ.
        Without `otherwise`, branches return nothing.

    Raises:
        PredicateError: a `TypeError`, if a predicate is no single number.
        BranchStructureError: a `TypeError`, if branches return different structures.
        BranchTypeError: a `TypeError`, if they return arrays of different ranks.
        MissingBranchError: a `TypeError`, if they return something and there is no `otherwise`.

    Example:
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

    """
    return lambda function: Conditional(pred, function)


class Conditional(ControlFlow):
    """A chain of branches under construction; calling it runs the first whose predicate holds.

    What `cond(pred)` makes of a function; see there. `operation` is for users of Catalyst, who look
    at what was applied.

    Example:
        >>> import pennylane as qml
        >>> from diastase import cond, qjit
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(n: int):
        ...     choice = cond(n > 1)(lambda: qml.RX(0.0, 0))
        ...     choice.else_if(n > 0)(lambda: qml.X(0))
        ...     choice.otherwise(lambda: qml.Z(0))
        ...     choice()
        ...     print(choice.operation)
        ...     return qml.expval(qml.Z(0))
        <what a cond applies>
        >>> float(circuit(1))
        -1.0

    """

    def __init__(self, predicate: Any, function: Function):
        self._branches: list[tuple[Any, Function]] = [(predicate, function)]
        self._default: Function | None = None
        super().__init__("cond", self._run)

    def else_if(self, pred: Any) -> Callable[[Function], "Conditional"]:
        """Add a branch for the case that no predicate before holds but this one does.

        Args:
            pred: as that of `cond`.

        Returns:
            A decorator of the branch, which gives the whole chain.

        Raises:
            PredicateError: a `TypeError`, when the chain is called, if `pred` is no single number.

        """

        def add(function: Function) -> Conditional:
            self._branches.append((pred, function))
            return self

        return add

    def otherwise(self, function: Function) -> "Conditional":
        """Add the branch for the case that no predicate holds.

        Args:
            function: of the same arguments and results as the other branches.

        Returns:
            The whole chain.

        """
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

    Args:
        index_var: an integer of shape `()`; where it equals no case, the default runs.

    Returns:
        A decorator, which makes a `Switch`. That is called with the arguments of the branches and
        returns what the one returns that runs; their results are as those of `cond`.

    Raises:
        PredicateError: a `TypeError`, if the index is no integer of shape `()`.
        BranchStructureError: a `TypeError`, if branches return different structures.
        BranchTypeError: a `TypeError`, if they return arrays of different ranks.

    Example:
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

    """
    return lambda function: Switch(index_var, function)


class Switch(ControlFlow):
    """A choice under construction; calling it runs the case that applies.

    What `switch(index_var)` makes of a function; see there.

    Example:
        >>> from diastase import switch
        >>> choose = switch(-1)(lambda: "something else")
        >>> choose.branch(-1)(lambda: "minus one")()
        'minus one'

    """

    def __init__(self, index: Any, default: Function):
        self._index = index
        self._default = default
        self._cases: dict[int, Function] = {}
        super().__init__("switch", self._run)

    def branch(self, case: int) -> Callable[[Function], "Switch"]:
        """Add the function for one case.

        Args:
            case: any integer that is known while the program is traced, negative ones, too.

        Returns:
            A decorator of the case, which gives the whole choice.

        Raises:
            SwitchCaseError: a `TypeError`, for a case that is no integer, or is traced.

        """
        number = _case(case)

        def add(function: Function) -> Switch:
            self._cases[number] = function
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


def _case(given: Any) -> int:
    if isinstance(given, Tracer):
        raise SwitchCaseError(found="known only when the program runs", span=user_span())
    try:
        return operator.index(given)
    except TypeError:
        found = f"{given!r} of type {type(given).__name__}"
        raise SwitchCaseError(found=found, span=user_span()) from None


def _branch(
    name: str, function: Function | None, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Branch:
    if function is None:
        return Branch(name, lambda: None, is_missing=True)
    return Branch(name, lambda: function(*args, **keywords))
