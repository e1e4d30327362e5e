"""Measurement of a product of Pauli matrices in the middle of a circuit: one outcome for all wires.

The outcome is the parity of what its factors would be measured as; the state collapses onto that
eigenspace of the product only. So the parity is moved to one wire, by gates that are undone after
that wire has been measured:

    XY on a, b:    H a, RX(pi/2) b, CNOT a b, measure b, CNOT a b, RX(-pi/2) b, H a
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from diastase.primitives.quantum import measure_p
from diastase.quantum.measurements.rotations import apply_gate, into_letters
from diastase.quantum.scope.circuit_scope import CircuitScope
from diastase.quantum.wires.wires import split_positions


def measure_pauli(
    scope: CircuitScope, word: str, wires: Sequence[Any], postselect: int | None
) -> Any:
    """Record the measurement of a word, without identities, on as many wires; its outcome."""
    positions = scope.wires.positions(wires, "pauli_measure")
    rotation = into_letters(word, positions)
    rotation.forth(scope)
    for pair in pairwise(positions):
        apply_gate(scope, "CNOT", pair)
    outcome = measure_position(scope, positions[-1], False, postselect)
    for left, right in reversed(list(pairwise(positions))):
        apply_gate(scope, "CNOT", (left, right))
    rotation.back(scope)
    return outcome


def measure_position(
    scope: CircuitScope, position: Any, reset: bool, postselect: int | None
) -> Any:
    """Record the measurement of one wire; its outcome."""
    scope.circuit.measures = True
    scope.circuit.postselects |= postselect is not None
    known, operands = split_positions([position])
    scope.register, outcome = measure_p.bind(
        scope.register, *operands, wires=known, reset=reset, postselect=postselect
    )
    return outcome
