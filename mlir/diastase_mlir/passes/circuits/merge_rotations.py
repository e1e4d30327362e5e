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

The product of two general rotations of one qubit, as angles.

    Rot(p, t, o) = RZ(o) RY(t) RZ(p) = [[e^(-i(p+o)/2) cos t/2, -e^(i(p-o)/2) sin t/2], […]]

The product of two is again in SU(2), [[a, -b*], [b, a*]], so it is a `Rot`, whose angles are read
off it: t = 2 atan2(|b|, |a|), p + o = -2 arg a, p - o = -2 arg b. Any branch of the arguments gives
the same matrix, so there is no sign to lose; where a or b is zero its argument does not matter.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
    apply,
    is_zero,
    multiply,
    negate,
    subtract,
)
from diastase_mlir.passes.operations import constant_of


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
            angles = product(before.parameters, gate.parameters)
        circuit.replace([before, gate], [New.like(before, angles)])


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


Complex = tuple[Number, Number]

_NOW: dict[str, Callable[..., Any]] = {
    "cos": np.cos, "sin": np.sin, "sqrt": np.sqrt, "atan2": np.arctan2,
}  # fmt: skip


def product(first: Sequence[ir.Value], second: Sequence[ir.Value]) -> list[Number]:
    """The angles of the rotation `first`, then `second`; emitted here where it is not known."""
    a1, b1 = _column(first)
    a2, b2 = _column(second)
    # [a2 -b2*; b2 a2*] [a1; b1]
    a = _minus(_times(a2, a1), _times(_conjugate(b2), b1))
    b = _plus(_times(b2, a1), _times(_conjugate(a2), b1))
    theta = multiply(2.0, _function("atan2", _absolute(b), _absolute(a)))
    half_sum = negate(_function("atan2", a[1], a[0]))
    half_difference = negate(_function("atan2", b[1], b[0]))
    return [add(half_sum, half_difference), theta, subtract(half_sum, half_difference)]


def _column(angles: Sequence[ir.Value]) -> tuple[Complex, Complex]:
    """The first column of the matrix of a `Rot`."""
    phi, theta, omega = angles
    half = multiply(0.5, theta)
    half_sum = multiply(-0.5, add(phi, omega))
    half_difference = multiply(-0.5, subtract(phi, omega))
    cosine, sine = _function("cos", half), _function("sin", half)
    return _polar(cosine, half_sum), _polar(sine, half_difference)


def _polar(length: Number, angle: Number) -> Complex:
    return multiply(length, _function("cos", angle)), multiply(length, _function("sin", angle))


def _times(first: Complex, second: Complex) -> Complex:
    (a, b), (c, d) = first, second
    real = subtract(multiply(a, c), multiply(b, d))
    return real, add(multiply(a, d), multiply(b, c))


def _plus(first: Complex, second: Complex) -> Complex:
    return add(first[0], second[0]), add(first[1], second[1])


def _minus(first: Complex, second: Complex) -> Complex:
    return subtract(first[0], second[0]), subtract(first[1], second[1])


def _conjugate(number: Complex) -> Complex:
    return number[0], negate(number[1])


def _absolute(number: Complex) -> Number:
    real, imaginary = number
    return _function("sqrt", add(multiply(real, real), multiply(imaginary, imaginary)))


def _function(name: str, *numbers: Number) -> Number:
    """A function of real numbers, evaluated now where they are known."""
    known = [constant_of(n) if isinstance(n, ir.Value) else n for n in numbers]
    if None in known:
        return apply(name, *numbers)
    with np.errstate(invalid="ignore"):  # of infinite angles
        return float(_NOW[name](*known))
