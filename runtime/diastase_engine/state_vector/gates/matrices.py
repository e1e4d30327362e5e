"""Matrices of the named gates, in PennyLane's conventions.

A gate on one wire is a list of eight numbers: a 2x2 matrix, row-major, real and imaginary parts.
A gate on two wires is two such matrices and a shape that says what they mean:

* `SELECTED`: (A, B): A on the second wire where the first is 0, B where it is 1;
* `PARITY`: (E, O): E on the span of |00>, |11> and O on that of |01>, |10>, in that order;
* `SELECTED_THEN_FLIP`, `SELECTED_THEN_SWAP`: SELECTED, followed by X on the first wire or SWAP.

Functions of parameters take vectors as well, a parameter in each lane, of at most `LARGEST_ANGLE`.

All tables are by PennyLane's name; the tests compare every entry with `qml.matrix`.
"""

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.gates.elementary import cos, sin
from diastase_engine.state_vector.state.small_matrices import IDENTITY, write
from diastase_runtime.gate_table import GATES

SELECTED, PARITY, SELECTED_THEN_FLIP, SELECTED_THEN_SWAP = range(4)

Matrix = list[Any]
ROOT_HALF = sqrt(0.5)

PAULI_X: Matrix = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
PAULI_Y: Matrix = [0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0]
PAULI_Z: Matrix = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0]
HADAMARD: Matrix = [ROOT_HALF, 0.0, ROOT_HALF, 0.0, ROOT_HALF, 0.0, -ROOT_HALF, 0.0]
S: Matrix = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
S_ADJOINT: Matrix = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]
T: Matrix = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, ROOT_HALF, ROOT_HALF]
T_ADJOINT: Matrix = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, ROOT_HALF, -ROOT_HALF]
SX: Matrix = [0.5, 0.5, 0.5, -0.5, 0.5, -0.5, 0.5, 0.5]
SX_ADJOINT: Matrix = [0.5, -0.5, 0.5, 0.5, 0.5, 0.5, 0.5, -0.5]
DIAGONAL_I_1: Matrix = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
DIAGONAL_MINUS_I_1: Matrix = [0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
SQUARE_ROOT_ISWAP: Matrix = [ROOT_HALF, 0.0, 0.0, ROOT_HALF, 0.0, ROOT_HALF, ROOT_HALF, 0.0]
SQUARE_ROOT_ISWAP_ADJOINT: Matrix = [
    ROOT_HALF, 0.0, 0.0, -ROOT_HALF, 0.0, -ROOT_HALF, ROOT_HALF, 0.0
]  # fmt: skip


@inline
def phase_second(phi: f64) -> Matrix:
    """Return the phase exp(i phi) on |1>."""
    return [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, cos(phi), sin(phi)]


@inline
def phase_first(phi: f64) -> Matrix:
    """Return the phase exp(i phi) on |0>."""
    return [cos(phi), sin(phi), 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]


@inline
def scalar(phi: f64) -> Matrix:
    """Return the phase exp(i phi) on both."""
    c, s = cos(phi), sin(phi)
    return [c, s, 0.0, 0.0, 0.0, 0.0, c, s]


@inline
def about_x(c: f64, s: f64) -> Matrix:
    """A rotation about X, from the cosine and the sine of half of its angle."""
    return [c, 0.0, 0.0, -s, 0.0, -s, c, 0.0]


@inline
def about_y(c: f64, s: f64) -> Matrix:
    """A rotation about Y, likewise."""
    return [c, 0.0, -s, 0.0, s, 0.0, c, 0.0]


@inline
def about_z(c: f64, s: f64) -> Matrix:
    """A rotation about Z, likewise."""
    return [c, -s, 0.0, 0.0, 0.0, 0.0, c, s]


@inline
def rotation_x(theta: f64) -> Matrix:
    """exp(-i theta X / 2)."""
    return about_x(cos(0.5 * theta), sin(0.5 * theta))


@inline
def rotation_y(theta: f64) -> Matrix:
    """exp(-i theta Y / 2)."""
    return about_y(cos(0.5 * theta), sin(0.5 * theta))


@inline
def rotation_z(theta: f64) -> Matrix:
    """exp(-i theta Z / 2)."""
    return about_z(cos(0.5 * theta), sin(0.5 * theta))


@inline
def rot(phi: f64, theta: f64, omega: f64) -> Matrix:
    """RZ(omega) RY(theta) RZ(phi)."""
    c, s = cos(0.5 * theta), sin(0.5 * theta)
    plus, minus = 0.5 * (phi + omega), 0.5 * (phi - omega)
    cp, sp, cm, sm = cos(plus), sin(plus), cos(minus), sin(minus)
    return [c * cp, -(c * sp), -(s * cm), -(s * sm), s * cm, -(s * sm), c * cp, c * sp]


@inline
def u2(phi: f64, delta: f64) -> Matrix:
    """PennyLane's U2."""
    return u3(0.5 * pi, phi, delta)


@inline
def u3(theta: f64, phi: f64, delta: f64) -> Matrix:
    """PennyLane's U3."""
    c, s = cos(0.5 * theta), sin(0.5 * theta)
    both = phi + delta
    return [
        c, 0.0, -(s * cos(delta)), -(s * sin(delta)),
        s * cos(phi), s * sin(phi), c * cos(both), c * sin(both),
    ]  # fmt: skip


@inline
def rotation_x_back(phi: f64) -> Matrix:
    """RX(-phi)."""
    return rotation_x(-phi)


@inline
def rotation_z_back(phi: f64) -> Matrix:
    """RZ(-phi)."""
    return rotation_z(-phi)


@inline
def half_phase(phi: f64) -> Matrix:
    """Return the phase exp(i phi / 2) on both."""
    return scalar(0.5 * phi)


@inline
def half_phase_back(phi: f64) -> Matrix:
    """Return the phase exp(-i phi / 2) on both."""
    return scalar(-0.5 * phi)


@inline
def identity_of(phi: f64) -> Matrix:
    """Return the identity, whatever the parameter."""
    return IDENTITY


@inline
def fermionic_swap(phi: f64) -> Matrix:
    """FermionicSWAP on |01>, |10>."""
    c, s = cos(0.5 * phi), sin(0.5 * phi)
    return [c * c, c * s, s * s, -(c * s), s * s, -(c * s), c * c, c * s]


FIXED_SINGLE: dict[str, Matrix] = {
    "Identity": IDENTITY,
    "Hadamard": HADAMARD,
    "PauliX": PAULI_X,
    "PauliY": PAULI_Y,
    "PauliZ": PAULI_Z,
    "S": S,
    "Adjoint(S)": S_ADJOINT,
    "T": T,
    "Adjoint(T)": T_ADJOINT,
    "SX": SX,
    "Adjoint(SX)": SX_ADJOINT,
}
"""Gates on one wire without parameters."""

PARAMETRIC_SINGLE: dict[str, Callable[..., Matrix]] = {
    "RX": rotation_x,
    "RY": rotation_y,
    "RZ": rotation_z,
    "PhaseShift": phase_second,
    "U1": phase_second,
    "U2": u2,
    "U3": u3,
    "Rot": rot,
}
"""Gates on one wire, from their parameters."""

CONTROLLED: dict[str, str] = {
    "CNOT": "PauliX",
    "CY": "PauliY",
    "CZ": "PauliZ",
    "CH": "Hadamard",
    "CRX": "RX",
    "CRY": "RY",
    "CRZ": "RZ",
    "CRot": "Rot",
    "ControlledPhaseShift": "PhaseShift",
}
"""Two-wire gates that are a controlled gate on one wire."""

FIXED_PAIRS: dict[str, tuple[int, Matrix, Matrix]] = {
    "SISWAP": (PARITY, IDENTITY, SQUARE_ROOT_ISWAP),
    "Adjoint(SISWAP)": (PARITY, IDENTITY, SQUARE_ROOT_ISWAP_ADJOINT),
    "ECR": (
        SELECTED_THEN_FLIP,
        [ROOT_HALF, 0.0, 0.0, -ROOT_HALF, 0.0, -ROOT_HALF, ROOT_HALF, 0.0],
        [ROOT_HALF, 0.0, 0.0, ROOT_HALF, 0.0, ROOT_HALF, ROOT_HALF, 0.0],
    ),
    "ISWAP": (SELECTED_THEN_SWAP, S, DIAGONAL_I_1),
    "Adjoint(ISWAP)": (SELECTED_THEN_SWAP, S_ADJOINT, DIAGONAL_MINUS_I_1),
}
"""Two-wire gates without parameters that are no controlled gate."""


PARAMETRIC_PAIRS: dict[str, tuple[int, Callable[..., Matrix], Callable[..., Matrix]]] = {
    "CPhaseShift00": (SELECTED, phase_first, identity_of),
    "CPhaseShift01": (SELECTED, phase_second, identity_of),
    "CPhaseShift10": (SELECTED, identity_of, phase_first),
    "IsingZZ": (SELECTED, rotation_z, rotation_z_back),
    "IsingXX": (PARITY, rotation_x, rotation_x),
    "IsingYY": (PARITY, rotation_x_back, rotation_x),
    "IsingXY": (PARITY, identity_of, rotation_x_back),
    "SingleExcitation": (PARITY, identity_of, rotation_y),
    "SingleExcitationPlus": (PARITY, half_phase, rotation_y),
    "SingleExcitationMinus": (PARITY, half_phase_back, rotation_y),
    "FermionicSWAP": (PARITY, phase_second, fermionic_swap),
    "PSWAP": (SELECTED_THEN_SWAP, phase_second, phase_first),
}
"""Two-wire gates with one parameter that are no controlled gate (SWAP needs no matrix)."""


@kernel
def single_matrix(code: i64, p0: f64, p1: f64, p2: f64, matrix: ptr[f64]) -> i1:
    """Write the matrix of a gate on one wire; false where `code` is no such gate."""
    for name in static(FIXED_SINGLE):
        if code == GATES[name].code:
            write(FIXED_SINGLE[name], matrix)
            return True
    for name in static(PARAMETRIC_SINGLE):
        if code == GATES[name].code:
            parameters = [p0, p1, p2][: GATES[name].parameters]
            write(PARAMETRIC_SINGLE[name](*parameters), matrix)
            return True
    return False


@kernel
def base_of_controlled(code: i64) -> i64:
    """Return the gate on one wire of which `code` is the controlled form, or -1."""
    for name in static(CONTROLLED):
        if code == GATES[name].code:
            return GATES[CONTROLLED[name]].code
    return -1


_ON_ONE_WIRE = [row.code for row in GATES.values() if row.wires == 1]


@kernel
def is_on_one_wire(code: i64) -> i1:
    """Whether a gate has one wire."""
    for each in static(_ON_ONE_WIRE):
        if code == each:
            return True
    return False


@kernel
def pair_matrices(code: i64, parameter: f64, first: ptr[f64], second: ptr[f64]) -> i64:
    """Write the two matrices of a gate on two wires and return its shape, or -1."""
    for name in static(FIXED_PAIRS):
        if code == GATES[name].code:
            shape, one, other = FIXED_PAIRS[name]
            write(one, first)
            write(other, second)
            return shape
    for name in static(PARAMETRIC_PAIRS):
        if code == GATES[name].code:
            shape, one_of, other_of = PARAMETRIC_PAIRS[name]
            write(one_of(parameter), first)
            write(other_of(parameter), second)
            return shape
    return -1
