"""Remove a gate and its inverse that follow each other on the same qubits.

    %1 = quantum.gate(%0) {gate_name = "Hadamard"}
    %2 = quantum.gate(%1) {gate_name = "Hadamard"}     ->     %2 is %0

What counts as an inverse: the gate itself where it is its own, `S` and `Adjoint(S)` and the like,
the same rotation by the opposite angle (a number, or the negative of the same value), and a matrix
known now whose adjoint is the other one. Controls may be written in any order and form: `CNOT` and
`ctrl(X)`. Nothing is commuted. Where a pair goes, the gates around it meet, so nests go from the
inside out. Pairs at the two ends of a loop's body go, too, but for the first and the last of all
(`loop_boundaries.py`).
"""

import numpy as np

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.gates import (
    NEGATED,
    UNITARY,
    Form,
    Gate,
    New,
    form,
    form_before,
    inverse_name,
)
from diastase_mlir.passes.circuits.loop_boundaries import (
    Boundary,
    move_out,
    outside,
    repeat_with_loops,
)
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.values import are_opposite, matrix_of, negate

_ROUNDING = 1e-12
"""How far from a unitary a matrix may be whose adjoint is taken for its inverse."""


@register_pass("cancel_inverses", built_in=True)
def cancel_inverses(circuit: Circuit) -> None:
    """Remove neighbouring gates that undo each other."""
    repeat_with_loops(circuit, _cancel, cancel_at_boundary)


def _cancel(gate: Gate, circuit: Circuit) -> None:
    before = gate.before
    if before is not None and _are_inverse(before, gate):
        circuit.erase([before, gate])


def cancel_at_boundary(found: Boundary, circuit: Circuit) -> bool:
    """The last gate of an iteration and the first of the next one undo each other."""
    first, last = found.first, found.last
    if not _undo(last, first, *found.forms):
        return False
    before = outside(first.parameters, found.loop)
    if before is None:
        return False
    order = NEGATED[found.forms[0].name] if before else ()
    with ir.InsertionPoint(found.loop), first.operation.operation.location:
        after = [negate(before[position]) for position in order]
    move_out(circuit, found, New.like(first, before), New.like(last, after))
    circuit.erase(first)
    circuit.erase(last)
    return True


def _are_inverse(first: Gate, second: Gate) -> bool:
    return _undo(first, second, form_before(first), form(second))


def _undo(first: Gate, second: Gate, one: Form, other: Form) -> bool:
    if one.controls != other.controls or one.targets != other.targets:
        return False
    if one.name == UNITARY or other.name == UNITARY:
        return one.name == other.name and _are_adjoint(first.matrix, second.matrix)
    if not first.parameters and not second.parameters:
        return inverse_name(one.name) == other.name
    return one.name == other.name and _are_opposite(one, first, second)


def _are_opposite(one: Form, first: Gate, second: Gate) -> bool:
    order = NEGATED.get(one.name)
    if order is None or len(first.parameters) != len(second.parameters):
        return False
    opposite = [second.parameters[position] for position in order]
    return all(map(are_opposite, first.parameters, opposite))


def _are_adjoint(first: ir.Value, second: ir.Value) -> bool:
    """Whether two matrices are known, exactly each other's adjoints, and unitary."""
    left, right = matrix_of(first), matrix_of(second)
    if left is None or right is None or not np.array_equal(left.conj().T, right):
        return False
    return np.allclose(left @ right, np.eye(len(left)), rtol=0, atol=_ROUNDING)
