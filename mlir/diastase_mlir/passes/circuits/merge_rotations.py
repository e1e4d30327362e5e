"""Join rotations of one kind that follow each other on the same qubits into one.

    %1 = quantum.gate(%a, %0) {gate_name = "RX"}
    %2 = quantum.gate(%b, %1) {gate_name = "RX"}
    ->
    %c = arith.addf %a, %b
    %2 = quantum.gate(%c, %0) {gate_name = "RX"}

Angles may be computed at run time. Two `Rot` with the same controls become one, whose angles are
those of the product; it is the same matrix, sign included, as is everything here. A sum that is
known to be zero goes altogether. In a loop's body rotations are joined within one iteration.
"""

from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.forms import ADDITIVE, form, form_before
from diastase_mlir.passes.circuits.gates import Gate, New
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.rotations import product
from diastase_mlir.passes.circuits.values import add, is_zero


@register_pass("merge_rotations", built_in=True)
def merge_rotations(circuit: Circuit) -> None:
    """Join neighbouring rotations of one kind."""
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
