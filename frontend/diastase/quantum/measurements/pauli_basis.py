"""Rotations into the basis of Pauli matrices and back, and measurements in the middle of a circuit.

Of a product of Pauli matrices there is one outcome: the parity of what its factors would be
measured as. The state collapses onto that eigenspace of the product only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diastase.primitives.quantum import gate_p, measure_p
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.wires import Position, bind_on

Action = Callable[[CircuitScope], None]
"""Records something in a circuit."""

_QUARTER = np.float64(np.pi / 2)


@dataclass(frozen=True)
class Rotation:
    """Into a basis, and back."""

    forth: Action
    back: Action


def into_letters(letters: Sequence[str], wires: Sequence[Position]) -> Rotation:
    """Into the eigenbasis of a Pauli matrix on each wire.

    X is Z after a Hadamard gate, Y is Z after a quarter turn about X.
    """

    def turn(scope: CircuitScope, angle: np.float64) -> None:
        for letter, wire in zip(letters, wires, strict=True):
            if letter == "X":
                apply_gate(scope, "Hadamard", [wire])
            elif letter == "Y":
                apply_gate(scope, "RX", [wire], angle)

    return Rotation(lambda scope: turn(scope, _QUARTER), lambda scope: turn(scope, -_QUARTER))


def apply_gate(
    scope: CircuitScope, name: str, wires: Sequence[Position], *parameters: np.float64
) -> None:
    """Record a gate of the gate table."""
    count = len(parameters)
    scope.advance_on(wires, gate_p, *parameters, name=name, num_parameters=count, control_values=())


def measure_word(
    scope: CircuitScope,
    word: str,
    positions: Sequence[Position],
    *,
    reset: bool = False,
    postselect: int | None = None,
) -> Any:
    """Record the measurement of a Pauli word, without identities, as one equation; its outcome."""
    scope.circuit.measures = True
    scope.circuit.postselects |= postselect is not None
    scope.register, outcome = bind_on(
        measure_p, scope.register, positions, word=word, reset=reset, postselect=postselect
    )
    return outcome
