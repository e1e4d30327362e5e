"""All gates become rotations about Pauli words, measurements stay measurements of words.

    %0 = quantum.gate "T" %q            ->    %0 = quantum.gate "PauliRot[Z]"(0.785398) %q
                                              a global phase, one for each straight part

Gates of Clifford+T become rotations by multiples of pi/4; others rotate by their own angles, which
may be computed at run time. `rotations_of_gates.py` has the table.

The trap: a gate under n controls is 2^n rotations, so many controls are refused.
"""

from typing import Any

from diastase_mlir.diagnostics import span_at
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.errors import UnsuitableCircuitError
from diastase_mlir.passes.circuits.gates import Gate
from diastase_mlir.passes.circuits.pauli_products.rotations_of_gates import Rotation, rotations_of
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.segments import Place, Segment, Step, segments
from diastase_mlir.passes.circuits.values import is_zero, multiply
from diastase_runtime.gate_table import rotation_about

_MOST_CONTROLS = 10

_ARRAYS = {
    "quantum.unitary": "a gate given by a matrix",
    "quantum.diagonal": "a gate given by a diagonal",
    "quantum.prepare": "a state preparation",
}


@register_pass("to_ppr", built_in=True)
def to_ppr(circuit: Circuit) -> None:
    """Write each gate as rotations about Pauli words."""
    for segment in segments(circuit):
        _rewrite(segment)


def _rewrite(segment: Segment) -> None:
    with segment.rewritten() as place:
        for step in segment.steps:
            place.at(step)
            gate = step.gate
            if gate is None:
                _refuse_arrays(step)
                place.keep(step)
            else:
                _rotate(gate, step, place)


def _rotate(gate: Gate, step: Step, place: Place) -> None:
    with place.emitting():
        rotations = _known(gate, step)
        phases = [multiply(0.5, one.angle) for one in rotations if not one.word.strip("I")]
    for phi in phases:
        place.multiply_by_phase(phi)
    for one in rotations:
        if one.word.strip("I") and not is_zero(one.angle):
            pairs = zip(one.word, step.qubits, strict=True)
            letters, qubits = zip(*(pair for pair in pairs if pair[0] != "I"), strict=True)
            place.gate(rotation_about("".join(letters)), qubits, [one.angle])


def _known(gate: Gate, step: Step) -> list[Rotation]:
    controls = len(gate.controls)
    if controls > _MOST_CONTROLS:
        reason = f"a gate under {controls} controls is 2**{controls} rotations"
        raise _unsuitable(step, gate.name, reason)
    rotations = rotations_of(gate)
    if rotations is None:
        raise _unsuitable(step, gate.name, "its rotations are not known")
    return rotations


def _refuse_arrays(step: Step) -> None:
    if step.name in _ARRAYS:
        reason = "which Pauli rotations it is depends on its numbers"
        raise _unsuitable(step, _ARRAYS[step.name], reason)


def _unsuitable(step: Step, construct: str, reason: Any) -> UnsuitableCircuitError:
    return UnsuitableCircuitError(
        name="to_ppr", construct=construct, reason=reason,
        instead="decompose it into gates with few controls before, by graph_decomposition, say",
        span=span_at(str(step.location)),
    )  # fmt: skip
