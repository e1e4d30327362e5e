"""Rotations about an axis captured: what `tape_replay` finds by repeating, without repeating.

exp(-i p P / 2) has the cosine c and the sine s of p / 2 as its numbers, and its derivative is the
same matrix of -s / 2 and c / 2. Most parameters of most circuits are theirs.
"""

from collections.abc import Callable

from diastase_engine.language import (
    cast,
    f64,
    i1,
    i64,
    inline,
    kernel,
    ptr,
    stack_array,
    static,
    to_float,
    to_integer,
)
from diastase_engine.state_vector.gates.matrices import cos, sin
from diastase_engine.state_vector.operations.captured import (
    ACTUAL,
    GENERIC,
    SHIFTED,
    Capture,
    capture_operation,
    room_for_derivatives,
)
from diastase_engine.state_vector.queue.tape import HEAD, KIND, WIRES
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.state.small_matrices import IDENTITY, write
from diastase_runtime.gate_table import GATES

_ZERO = [0.0] * 8


@inline
def about_x(c: f64, s: f64) -> list[f64]:
    """RX."""
    return [c, 0.0, 0.0, -s, 0.0, -s, c, 0.0]


@inline
def about_y(c: f64, s: f64) -> list[f64]:
    """RY."""
    return [c, 0.0, -s, 0.0, s, 0.0, c, 0.0]


@inline
def about_z(c: f64, s: f64) -> list[f64]:
    """RZ."""
    return [c, -s, 0.0, 0.0, 0.0, 0.0, c, s]


_ROTATIONS: dict[str, Callable[..., list[f64]]] = {
    "RX": about_x,
    "RY": about_y,
    "RZ": about_z,
    "CRX": about_x,
    "CRY": about_y,
    "CRZ": about_z,
}


@kernel
def is_rotation(kind: i64) -> i1:
    """Whether a gate is one of these."""
    for name in static(_ROTATIONS):
        if kind == GATES[name].code:
            return True
    return False


@kernel
def write_rotation(kind: i64, c: f64, s: f64, matrix: ptr[f64]) -> None:
    """Write the matrix of a rotation."""
    for name in static(_ROTATIONS):
        if kind == GATES[name].code:
            write(_ROTATIONS[name](c, s), matrix)


@kernel
def capture_as(
    shadow: State, row: ptr[i64], mask: i64, value: i64, otherwise: ptr[f64], matched: ptr[f64]
) -> None:
    """Capture a row's matrices; the first of two wires is a control."""
    wires = row + HEAD
    target = shadow.bit_of_wire[wires[row[WIRES] - 1]]
    if row[WIRES] == 1:
        capture_operation(shadow, target, mask, value, otherwise, matched)
    else:
        control = 1 << shadow.bit_of_wire[wires[0]]
        capture_operation(shadow, target, mask | control, value | control, otherwise, matched)


@kernel
def capture_rotation(shadow: State, row: ptr[i64], mask: i64, value: i64, parameter: i64) -> i1:
    """Capture a rotation as one factor, for which there is room; false without memory."""
    capture = cast(shadow.capture, Capture)
    kind, angle = row[KIND], cast(row + HEAD + row[WIRES], ptr[f64])[0]
    c, s = cos(0.5 * angle), sin(0.5 * angle)
    matched, otherwise = stack_array(f64, 8), stack_array(f64, 8)
    start, pair = capture.count, capture.pairs
    if not room_for_derivatives(capture, 1):
        return False
    write(IDENTITY, otherwise)
    write_rotation(kind, c, s, matched)
    capture.mode, capture.cursor = ACTUAL, start
    capture_as(shadow, row, mask, value, otherwise, matched)
    # Any angle, as long as it is another one for each parameter.
    turns = 0.6180339887 * to_float(parameter + 1)
    t = 0.2 + 0.6 * (turns - to_float(to_integer(turns)))
    weight = 1.0 / (1.0 + t * t)
    write_rotation(kind, (1.0 - t * t) * weight, 2.0 * t * weight, matched)
    capture.mode, capture.cursor = GENERIC, start
    capture_as(shadow, row, mask, value, otherwise, matched)
    write(_ZERO, otherwise)
    write_rotation(kind, -0.5 * s, 0.5 * c, matched)
    capture.mode, capture.cursor, capture.weight = SHIFTED, pair, 1.0
    capture_as(shadow, row, mask, value, otherwise, matched)
    factor = capture.factors[start]
    factor.parameters, factor.parameter = 1, parameter
    factor.derivative, factor.stride = pair, 1
    return True
