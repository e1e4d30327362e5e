"""Rows of a tape captured again: what a gate pushes, with derivatives by its parameters.

A parameter p of frequency f enters all that a gate pushes as `a + b cos(f p) + c sin(f p)`. The
derivative is therefore exactly `f / 2 * (U(p + s) - U(p - s))` with `s = pi / (2 f)`.

For rotations about an axis nothing is repeated: exp(-i p P / 2) has the cosine c and the sine s of
p / 2 as its numbers, and its derivative is the same matrix of -s / 2 and c / 2. Most parameters of
most circuits are theirs.
"""

from collections.abc import Callable
from math import pi

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.state_vector.gates.gates import (
    FIRST_ON_WIRES,
    MOST_PARAMETERS,
    apply_gate,
    apply_on_wires,
    push_phase,
)
from diastase_engine.state_vector.gates.matrices import about_x, about_y, about_z, cos, sin
from diastase_engine.state_vector.operations.captured import (
    ACTUAL,
    GENERIC,
    SHIFTED,
    Capture,
    capture_operation,
    room_for_derivatives,
    room_for_factors,
)
from diastase_engine.state_vector.queue.queue import push_single
from diastase_engine.state_vector.queue.tape import (
    HEAD,
    KIND,
    MASK,
    NUMBERS,
    PHASE,
    UNITARY,
    VALUE,
    WIRES,
)
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.state.small_matrices import IDENTITY, write
from diastase_runtime.gate_table import GATES, WHOLE_FREQUENCY

_ZERO = [0.0] * 8
MOST_PUSHED = 20
"""Operations that any gate pushes, besides two for each of its wires."""
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


@kernel
def bits_of_wires(state: State, wires: i64) -> i64:
    """The bits of some wires, as a mask."""
    found: i64 = 0
    rest: i64 = wires
    while rest != 0:
        found |= 1 << state.bit_of_wire[count_trailing_zeros(rest)]
        rest &= rest - 1
    return found


@kernel
def replay(context: CallContext, shadow: State, site: i64, row: ptr[i64], p: ptr[f64]) -> None:
    """Do again what a row says, with these numbers (three at least)."""
    kind, n_wires, wires = row[KIND], row[WIRES], row + HEAD
    mask, value = bits_of_wires(shadow, row[MASK]), bits_of_wires(shadow, row[VALUE])
    if kind == PHASE:
        push_phase(shadow, p[0])
    elif kind == UNITARY:
        push_single(shadow, shadow.bit_of_wire[wires[0]], mask, value, p)
    elif kind >= FIRST_ON_WIRES:
        apply_on_wires(context, shadow, site, kind, n_wires, wires, mask, value, p[0])
    else:
        last = wires[n_wires - 1]
        apply_gate(
            context, shadow, site, kind, mask, value, wires[0], last, p[0], p[1], p[2]
        )  # fmt: skip


@kernel
def has_whole_frequency(kind: i64, parameter: i64) -> i1:
    """Whether a parameter's frequency is 1, not 1/2."""
    if kind == PHASE:
        return True
    for name in static(WHOLE_FREQUENCY):
        if kind == GATES[name].code:
            for position in static(WHOLE_FREQUENCY[name]):
                if parameter == position:
                    return True
    return False


@kernel
def replay_shifted(
    context: CallContext,
    shadow: State,
    site: i64,
    row: ptr[i64],
    numbers: ptr[f64],
    parameter: i64,
    first: i64,
) -> None:
    """Write the derivatives by one parameter to the pairs of matrices from `first` on."""
    capture = cast(shadow.capture, Capture)
    whole = has_whole_frequency(row[KIND], parameter)
    shift = 0.5 * pi if whole else pi
    weight = 0.5 if whole else 0.25
    kept = numbers[parameter]
    capture.cursor, capture.weight = first, weight
    numbers[parameter] = kept + shift
    replay(context, shadow, site, row, numbers)
    capture.cursor, capture.weight = first, -weight
    numbers[parameter] = kept - shift
    restore_names(shadow, row)
    replay(context, shadow, site, row, numbers)
    numbers[parameter] = kept


@kernel
def restore_names(shadow: State, row: ptr[i64]) -> None:
    """Undo an exchange of names; a second exchange of two wires is the first one undone."""
    capture = cast(shadow.capture, Capture)
    if row[WIRES] == 2:
        first, second = row[HEAD], row[HEAD + 1]
        shadow.bit_of_wire[first] = capture.first_bit
        shadow.bit_of_wire[second] = capture.second_bit


@kernel
def capture_row(
    context: CallContext, shadow: State, site: i64, row: ptr[i64], parameter: i64
) -> i1:
    """Capture one row, the first of whose parameters has this number; false without memory."""
    capture = cast(shadow.capture, Capture)
    if not room_for_factors(capture, MOST_PUSHED + 2 * row[WIRES]):
        return False
    if is_rotation(row[KIND]):
        mask, value = bits_of_wires(shadow, row[MASK]), bits_of_wires(shadow, row[VALUE])
        return capture_rotation(shadow, row, mask, value, parameter)
    return capture_gate(context, shadow, site, row, parameter)


@kernel
def capture_gate(
    context: CallContext, shadow: State, site: i64, row: ptr[i64], parameter: i64
) -> i1:
    """Capture any row by repeating it; there is room for its factors; false without memory."""
    capture = cast(shadow.capture, Capture)
    if row[WIRES] == 2:
        capture.first_bit = shadow.bit_of_wire[row[HEAD]]
        capture.second_bit = shadow.bit_of_wire[row[HEAD + 1]]
    start = capture.count
    capture.mode, capture.cursor = ACTUAL, start
    given = cast(row + HEAD + row[WIRES], ptr[f64])
    if row[KIND] == UNITARY:
        replay(context, shadow, site, row, given)
        return True
    numbers, generic = stack_array(f64, MOST_PARAMETERS), stack_array(f64, MOST_PARAMETERS)
    count = row[NUMBERS]
    for k in static(range(MOST_PARAMETERS)):
        numbers[k], generic[k] = 0.0, 0.0
    for k in range(count):
        numbers[k] = given[k]
        generic[k] = 0.7312 + 1.6180339887 * to_float(parameter + k)
    replay(context, shadow, site, row, numbers)
    made = capture.count - start
    if count == 0 or made == 0:
        return True
    pairs = capture.pairs
    if not room_for_derivatives(capture, made * count):
        return False
    for k in range(made):
        factor = capture.factors[start + k]
        factor.parameters, factor.parameter = count, parameter
        factor.derivative, factor.stride = pairs + k, made
    capture.mode, capture.cursor = GENERIC, start
    restore_names(shadow, row)
    replay(context, shadow, site, row, generic)
    capture.mode = SHIFTED
    for k in range(count):
        restore_names(shadow, row)
        replay_shifted(context, shadow, site, row, numbers, k, pairs + made * k)
    return True
