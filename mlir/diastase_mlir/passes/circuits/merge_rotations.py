"""Join rotations of one kind that follow each other on the same qubits into one.

    %1 = quantum.gate(%a, %0) {gate_name = "RX"}
    %2 = quantum.gate(%b, %1) {gate_name = "RX"}
    ->
    %c = arith.addf %a, %b
    %2 = quantum.gate(%c, %0) {gate_name = "RX"}

Angles may be computed at run time. Two `Rot` with the same controls become one, whose angles are
those of the product; it is the same matrix, sign included, as is everything here. A sum that is
known to be zero goes altogether. A sum is rounded, as any is: of angles in the thousands of
turns it has fewer digits left.

Rotations at the two ends of a loop's body are joined, too (`loop_boundaries.py`): one less in each
iteration, two more around the loop, which pays from the third iteration on.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.forms import ADDITIVE, form, form_before
from diastase_mlir.passes.circuits.gates import Gate, New
from diastase_mlir.passes.circuits.loop_boundaries import (
    Boundary,
    move_out,
    outside,
    repeat_with_loops,
)
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.rotations import product
from diastase_mlir.passes.circuits.values import add, is_zero, negate


@register_pass("merge_rotations", built_in=True)
def merge_rotations(circuit: Circuit, *, loops: bool = True) -> None:
    """Join neighbouring rotations of one kind; with `loops`, those at the ends of loops, too."""
    if loops:
        repeat_with_loops(circuit, _merge, _merge_at_boundary)
    else:
        circuit.rewrite(_merge)


def _merge(gate: Gate, circuit: Circuit) -> None:
    before = gate.before
    name = form(gate).name
    if before is None or form_before(before) != form(gate):
        return
    if len(before.parameters) != len(gate.parameters):
        return
    if name in ADDITIVE:
        with circuit.before(gate):
            angle = add(before.parameters[0], gate.parameters[0])
        new = [] if is_zero(angle) else [New.like(before, [angle])]
        circuit.replace([before, gate], new)
    elif name == "Rot":
        with circuit.before(gate):
            angles = product(before.parameters, gate.parameters)
        circuit.replace([before, gate], [New.like(before, angles)])


def _merge_at_boundary(found: Boundary, circuit: Circuit) -> bool:
    """The last gate of an iteration and the first of the next one are rotations of one kind."""
    first, last = found.first, found.last
    one, other = found.forms
    before = outside(first.parameters, found.loop)
    if one != other or one.name not in ADDITIVE or before is None:
        return False
    with circuit.before(last):
        angle = add(last.parameters[0], first.parameters[0])
    with ir.InsertionPoint(found.loop), first.operation.operation.location:
        undone = negate(before[0])
    move_out(circuit, found, New.like(first, before), New.like(last, [undone]))
    circuit.replace(last, [] if is_zero(angle) else [New.like(last, [angle])])
    circuit.erase(first)
    return True
