"""`AppliedFunction`: what a loop, a branch, `adjoint` or `ctrl` has applied, as one operator.

PennyLane's users hold on to such things: `loop.operation` in a decomposition, a tape's operations,
the `wires` of `adjoint(f)(x)`. Ours are recorded when they are called, not when they are queued; so
the operator is there to be looked at, and to be applied where a tape has put it off.

The trap: what has been recorded can neither be applied again nor become part of another operator;
`recorded` says so to the circuit.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pennylane as qml
from pennylane.queuing import AnnotatedQueue, QueuingManager
from pennylane.tape import QuantumTape
from pennylane.wires import Wires

from diastase.capture.regions import current_scope

Factors = Callable[[Sequence[Any]], list[Any]]
"""From the operators that a function applies to those that take their place."""


class AppliedFunction(qml.operation.Operator):
    """What a construct applies; `run` does it."""

    num_wires = None

    def __init__(
        self,
        construct: str,
        run: Callable[[], Any],
        function: Callable[[], Any] | None = None,
        factors: Factors = list,
    ) -> None:
        self.run = run
        self._function, self._factors = function, factors
        super().__init__(wires=Wires([]))
        self.name = construct

    @property
    def has_decomposition(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the operators are known: not those of loops and branches."""
        return self._function is not None

    @property
    def wires(self) -> Wires:
        """The wires of all operators; those of loops and branches are not known."""
        return Wires.all_wires([operator.wires for operator in self.decomposition()])

    def decomposition(self) -> list[Any]:
        """The operators, if there are no loops and branches among them."""
        if self._function is None:
            return []
        with AnnotatedQueue() as queue:
            self._function()
        with QueuingManager.stop_recording():
            return self._factors([o for o in queue.queue if isinstance(o, qml.operation.Operator)])

    def __repr__(self) -> str:
        return f"<what a {self.name} applies>"


def recorded(*args: Any, **kwargs: Any) -> AppliedFunction:
    """The operator for what has just been recorded: to be looked at only."""
    with QueuingManager.stop_recording():
        operator = AppliedFunction(*args, **kwargs)
    scope = current_scope()
    if scope is not None:
        scope.note_recorded(operator)
    return operator


def puts_off() -> bool:
    """Whether operators go into a tape that the user has opened, to be applied later or never."""
    return isinstance(QueuingManager.active_context(), QuantumTape)
