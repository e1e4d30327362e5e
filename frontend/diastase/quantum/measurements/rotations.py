"""Rotations of a circuit into the basis in which something is measured, and back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from diastase.primitives.quantum import gate_p
from diastase.quantum.scope.circuit_scope import CircuitScope
from diastase.quantum.wires.wires import Position, split_positions

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
    known, operands = split_positions(wires)
    scope.advance(
        gate_p, *parameters, *operands, name=name, num_parameters=len(parameters), wires=known,
        control_values=(),
    )  # fmt: skip
