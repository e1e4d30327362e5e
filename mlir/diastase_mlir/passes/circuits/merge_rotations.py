"""Join rotations of one kind that follow each other on the same qubits into one.

    %1 = quantum.gate(%a, %0) {gate_name = "RX"}
    %2 = quantum.gate(%b, %1) {gate_name = "RX"}
    ->
    %c = arith.addf %a, %b
    %2 = quantum.gate(%c, %0) {gate_name = "RX"}

Angles may be computed at run time. A sum that is known to be zero goes altogether. A sum is
rounded, as any is: of angles in the thousands of turns it has fewer digits left.

Rotations at the two ends of a loop's body are joined, too (`loop_boundaries.py`): one less in each
iteration, two more around the loop, which pays from the third iteration on.

Two `Rot(p, t, o) = RZ(o) RY(t) RZ(p)` with the same controls become one, of the same matrix, sign
included, where all angles are known, or where sums of angles do: the middle one of the first or of
the second is zero, or `o + p` between them is. Else they are left as they are. The angles of a
product exist always, but where it is diagonal or antidiagonal, as where all parameters are zero,
they are not differentiable, though the circuit is: its gradient would be NaN.
"""

import cmath
import math
from collections.abc import Sequence

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.gates import ADDITIVE, Gate, New, form, form_before
from diastase_mlir.passes.circuits.loop_boundaries import (
    Boundary,
    move_out,
    outside,
    repeat_with_loops,
)
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.values import (
    Number,
    add,
    are_opposite,
    is_zero,
    known,
    negate,
)


@register_pass("merge_rotations", built_in=True)
def merge_rotations(circuit: Circuit, *, loops: bool = True) -> None:
    """Join neighbouring rotations of one kind; with `loops`, those at the ends of loops, too."""
    if loops:
        repeat_with_loops(circuit, _merge, merge_at_boundary)
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
            angles = _product(before.parameters, gate.parameters)
        if angles is not None:
            new = [] if all(is_zero(angle) for angle in angles) else [New.like(before, angles)]
            circuit.replace([before, gate], new)


def merge_at_boundary(found: Boundary, circuit: Circuit) -> bool:
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


def _product(first: Sequence[ir.Value], second: Sequence[ir.Value]) -> list[Number] | None:
    """The angles of the `Rot` that is `first`, then `second`; None where that may be singular."""
    (p1, t1, o1), (p2, t2, o2) = first, second
    if is_zero(t1):
        return [add(add(p1, o1), p2), t2, o2]
    if is_zero(t2):
        return [p1, t1, add(add(o1, p2), o2)]
    if are_opposite(o1, p2):
        return [p1, add(t1, t2), o2]
    numbers = [number for angle in (*first, *second) if (number := known(angle)) is not None]
    if len(numbers) < 6 or not all(map(math.isfinite, numbers)):
        return None
    a1, b1 = _column(*numbers[:3])
    a2, b2 = _column(*numbers[3:])
    # [a2 -b2*; b2 a2*] [a1; b1]
    a = a2 * a1 - b2.conjugate() * b1
    b = b2 * a1 + a2.conjugate() * b1
    # The first column of a `Rot`, read backwards: any branch of the two arguments gives the same
    # matrix, so there is no sign to lose; where a or b is zero its argument does not matter.
    half_sum, half_difference = -cmath.phase(a), -cmath.phase(b)
    theta = 2 * math.atan2(abs(b), abs(a))
    return [half_sum + half_difference, theta, half_sum - half_difference]


def _column(phi: float, theta: float, omega: float) -> tuple[complex, complex]:
    """The first column of the matrix of a `Rot`, which is in SU(2): [[a, -b*], [b, a*]]."""
    a = cmath.rect(math.cos(theta / 2), -(phi + omega) / 2)
    b = cmath.rect(math.sin(theta / 2), -(phi - omega) / 2)
    return a, b
