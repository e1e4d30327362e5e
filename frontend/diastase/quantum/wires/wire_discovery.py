"""Wires that are known only after the whole circuit has been seen: the circuit is traced again.

A device without wires gets those that the circuit names, in an order that depends on all of them,
and wires that `qml.allocate` asks for are those that nothing else names. A circuit that needs
either is traced a first time to find its wires, with stand-ins for positions; the trace is given up
by `raise WiresFound`, and the second one starts with what was found.

The trap: the quantum function is called twice while tracing.
"""

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Found:
    """The wires of a circuit."""

    labels: tuple[Any, ...]
    """All of them, in the order of the register."""
    unused: tuple[Any, ...]
    """Those that are named nowhere, for `qml.allocate`."""


class WiresFound(BaseException):
    """The end of the first trace; not an `Exception`, as no handler of the user's is meant."""

    def __init__(self, found: Found):
        super().__init__(found)
        self.found = found


class _Stack(threading.local):
    def __init__(self) -> None:
        self.items: list[Found | None] = []


_stack = _Stack()


def found_wires() -> Found | None:
    """What a first trace of the circuit has found, in the second one."""
    return _stack.items[-1] if _stack.items else None


def traced_again(
    trace: Callable[Arguments, Result],
) -> Callable[Arguments, Result]:
    """Call a function that traces a circuit again, if the first trace found its wires."""

    @functools.wraps(trace)
    def traced(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return _with(None, lambda: trace(*args, **kwargs))
        except WiresFound as end:
            found = end.found
        return _with(found, lambda: trace(*args, **kwargs))

    return traced


def _with(found: Found | None, function: Callable[[], Result]) -> Result:
    _stack.items.append(found)
    try:
        return function()
    finally:
        _stack.items.pop()
