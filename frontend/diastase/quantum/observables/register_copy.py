"""A copy of the circuit's register, to which the operators of an observable are applied."""

from collections.abc import Callable, Sequence
from typing import Any

from diastase.capture.quantum_errors import UnsupportedObservableError
from diastase.capture.regions import current_scope
from diastase.primitives import statevector
from diastase.primitives.quantum import release_p
from diastase.quantum.operators.gate_operands import Controls
from diastase.quantum.wires.wires import Position, WireMap, split_positions


class Scratch:
    """A register of our own, to which operators are applied; gates can be recorded into it."""

    is_outermost = True
    is_untouched = False

    def __init__(self, wires: WireMap, source: Any, blank: bool = False):
        self.wires = wires
        self.register = statevector.copy_register_p.bind(source, blank=blank)

    def advance(self, primitive: Any, *operands: Any, **params: Any) -> None:
        """Apply a primitive `register, *operands -> register`."""
        self.register = primitive.bind(self.register, *operands, **params)

    def advance_on(
        self, wires: Sequence[Position], primitive: Any, *operands: Any, **params: Any
    ) -> None:
        """Apply a primitive that takes wires."""
        known, traced = split_positions(wires)
        self.advance(primitive, *operands, *traced, wires=known, **params)

    def take_snapshot(self, operator: Any) -> None:
        """An observable's operators pass no state on to anybody."""

    def release(self) -> None:
        """The end of the register."""
        release_p.bind(self.register)

    def run_decomposition(
        self, function: Callable[[], Sequence[Any] | None], controls: Controls
    ) -> Sequence[Any] | None:
        """The gates that a user's function gives; loops in it would act on the circuit itself."""
        scope = current_scope()
        before = None if scope is None else scope.register
        gates = function()
        if scope is not None and scope.register is not before:
            reason = "has control flow in its decomposition, which observables cannot have"
            raise UnsupportedObservableError(observable="an operator", reason=reason)
        return gates
