"""Regions: the functions inside control flow, traced into closed jaxprs of their own.

`trace_region` takes a flat function and abstract values; it gives a `Region`, whose jaxpr has the
values that the function closes over as leading inputs, and the function's results as outputs.

Quantum bodies: while a quantum scope is active (`current_scope()`), the state is one *register*
value threaded through the program. Whoever emits a control-flow equation

    1. calls `flush_scope()`, so that everything pending is in the outer register,
    2. traces each region; a region that used a quantum operation has `uses_register`, takes the
       register as the first carried input (after a loop's index), and returns it as first output,
    3. if any region of the equation uses it, makes all of them take it (`threaded`), passes the
       outer register as the first carried operand, and hands the equation's first result to
       `scope.replace_register`.

A region that uses no quantum operation does not thread the register: its jaxpr is as without a
scope. The trap: an operation recorded in a trace that is not the scope's own (inside
`jax.lax.scan`, `vmap`, ...) could not be threaded; the scope compares `current_trace()` with the
trace in which it was entered and refuses.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from jax.extend.core import ClosedJaxpr

from diastase_mlir.jax_compat import (
    add_input,
    add_leading_register,
    drop_leading_register,
    trace_to_jaxpr,
)
from diastase_mlir.jax_compat import current_trace as current_trace


class InnerScope(Protocol):
    """A scope's view of one region, valid after the region's function has returned."""

    @property
    def used(self) -> bool:
        """Whether any quantum operation was recorded in the region (or in a region in it)."""
        ...

    def final_register(self) -> Any:
        """Flush, inside the region, and give the register that the region returns."""
        ...


class QuantumScope(Protocol):
    """What control flow needs of the capture of quantum operations."""

    @property
    def register(self) -> Any:
        """The current register: a tracer of the scope's current trace."""
        ...

    @property
    def is_recording(self) -> bool:
        """Whether the scope records what is applied now; not while PennyLane builds something."""
        ...

    @property
    def records_here(self) -> bool:
        """Whether it records, and in the trace that is current now."""
        ...

    @property
    def has_measured(self) -> bool:
        """Whether the circuit has measured a wire so far: there may be outcomes."""
        ...

    def refuse_foreign_trace(self, obj: Any) -> None:
        """Refuse an operator that is applied in a function that JAX traces, in a tape."""
        ...

    def trial(self, *, if_it_fails: bool = False) -> AbstractContextManager[None]:
        """What is recorded inside, in regions of the scope, is given up: always, or on errors."""
        ...

    def note_recorded(self, operator: Any) -> None:
        """An operator stands for what has been recorded: it cannot be applied again."""
        ...

    def flush(self) -> None:
        """Record everything pending, so that `register` holds the whole state."""
        ...

    def replace_register(self, register: Any) -> None:
        """Go on with this register: the first result of a control-flow equation."""
        ...

    def enter_region(self, register: Any) -> AbstractContextManager[InnerScope]:
        """Record into the trace that is current now, starting from its own `register`."""
        ...


class _Scopes(threading.local):
    def __init__(self) -> None:
        self.stack: list[QuantumScope | None] = []


_scopes = _Scopes()


def current_scope() -> QuantumScope | None:
    """The quantum scope that control flow threads a register through, in this thread."""
    return _scopes.stack[-1] if _scopes.stack else None


@contextmanager
def quantum_scope(scope: QuantumScope | None) -> Generator[None]:
    """Make `scope` the current one; None hides an outer one (a QNode called by a QNode's body)."""
    _scopes.stack.append(scope)
    try:
        yield
    finally:
        _scopes.stack.pop()


def flush_scope() -> None:
    """Before a control-flow equation: the outer register must hold the whole state."""
    scope = current_scope()
    if scope is not None:
        scope.flush()


@dataclass(frozen=True)
class Region:
    """A traced region: `jaxpr` takes `[*captured, *leading, (register,) *carried]`."""

    jaxpr: ClosedJaxpr
    captured: tuple[Any, ...]
    """Values of enclosing traces and concrete arrays, operands of the equation."""
    uses_register: bool = False
    leading: int = 0
    """How many arguments, such as a loop's index, stand before the register."""

    @property
    def result_avals(self) -> list[Any]:
        """Types of the function's own results, without the register."""
        return list(self.jaxpr.out_avals[self.uses_register :])

    def taking_register(self) -> "Region":
        """The same region with the register among its inputs; it is not returned."""
        return replace(self, jaxpr=add_input(self.jaxpr, *self._register_input()))

    def threaded(self) -> "Region":
        """The same region, passing the register through where it does not use it."""
        if self.uses_register:
            return self
        jaxpr = add_leading_register(self.jaxpr, *self._register_input())
        return replace(self, jaxpr=jaxpr, uses_register=True)

    def _register_input(self) -> tuple[int, Any]:
        """The register's position among the inputs, and its type."""
        scope = current_scope()
        assert scope is not None, "a register is threaded only while a scope is active"
        return len(self.captured) + self.leading, scope.register.aval


def trace_region(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[Any],
    purpose: str,
    leading: int = 0,
    names: Sequence[str] | None = None,
) -> Region:
    """Trace a flat function as a region of the current trace; `purpose` is for JAX's messages.

    `leading`: how many arguments are not carried; a register comes after them. `names`: what the
    user calls the arguments, for pictures.
    """
    scope = current_scope()
    if scope is None:
        jaxpr, captured = trace_to_jaxpr(function, avals, purpose, names)
        return Region(jaxpr, tuple(captured), leading=leading)

    used = False

    def with_register(*arguments: Any) -> Sequence[Any]:
        nonlocal used
        register = arguments[leading]
        with scope.enter_region(register) as inner:
            results = function(*arguments[:leading], *arguments[leading + 1 :])
            used = inner.used
            return [inner.final_register() if used else register, *results]

    with_register_avals = [*avals[:leading], scope.register.aval, *avals[leading:]]
    if names is not None:
        names = [*names[:leading], "register", *names[leading:]]
    jaxpr, captured = trace_to_jaxpr(with_register, with_register_avals, purpose, names)
    if not used:
        jaxpr = drop_leading_register(jaxpr, len(captured) + leading)
    return Region(jaxpr, tuple(captured), used, leading)
