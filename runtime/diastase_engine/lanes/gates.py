"""Named gates: wires and controls are the same in all lanes, parameters are each lane's own."""

from diastase_engine.call_context import SIZE_MISMATCH, CallContext, fail
from diastase_engine.lanes.algebra import FORM_BITS, PHASE, form_of
from diastase_engine.lanes.pending import apply_fresh, settle, write_fresh
from diastase_engine.lanes.records import MATRIX, WIDTH, Lanes, active_of, lanes_of
from diastase_engine.lanes.sweeps import can_rename, exchange, spoil_lane, sweep
from diastase_engine.language import *
from diastase_engine.state_vector.gates.decompositions import exchange_names
from diastase_engine.state_vector.gates.elementary import (
    LARGEST_ANGLE,
    cos,
    cos_of_number,
    sin,
    sin_of_number,
)
from diastase_engine.state_vector.gates.matrices import (
    FIXED_PAIRS,
    FIXED_SINGLE,
    PARAMETRIC_PAIRS,
    PARAMETRIC_SINGLE,
    PARITY,
    PAULI_X,
    SELECTED_THEN_FLIP,
    SELECTED_THEN_SWAP,
    base_of_controlled,
    is_on_one_wire,
)
from diastase_engine.state_vector.state.checks import (
    add_to_mask,
    cannot_run,
    control_value,
    mask_of,
)
from diastase_engine.state_vector.state.records import State
from diastase_runtime.gate_table import GATES

X, RZ, SWAP = GATES["PauliX"].code, GATES["RZ"].code, GATES["SWAP"].code
IDENTITY_GATE = GATES["Identity"].code

atan2 = external("atan2", [f64, f64], f64)


@kernel
def changed_angles(state: State, angles: ptr[f64], into: ptr[f64]) -> None:
    """Write angles that a vector can have: large ones modulo 4 pi, 0 for those of lanes not active.

    An angle that is no number spoils its lane.
    """
    lanes = lanes_of(state)
    for lane in range(lanes.lanes):
        angle: f64 = angles[lane] if lanes.active[lane] != 0 else 0.0
        if not angle * 0.0 == 0.0:
            spoil_lane(state, lane)
            angle = 0.0
        if not angle * angle < LARGEST_ANGLE * LARGEST_ANGLE:
            angle = 2.0 * atan2(sin_of_number(0.5 * angle), cos_of_number(0.5 * angle))
        into[lane] = angle


@kernel
def usable(state: State, angles: ptr[f64], number: i64) -> ptr[f64]:
    """Where a parameter's numbers are that can be used: as they were given, in nearly all cases."""
    lanes = lanes_of(state)
    changed = lanes.angles + number * lanes.lanes
    if is_null(angles):
        return changed  # which nobody reads
    for group in range(lanes.groups):
        some = load_unaligned(angles, WIDTH * group)
        if not all_lanes(some * some < LARGEST_ANGLE * LARGEST_ANGLE):
            changed_angles(state, angles, changed)
            return changed
    return angles


@kernel
def write_single(lanes: Lanes, code: i64, p0: ptr[f64], p1: ptr[f64], p2: ptr[f64]) -> i64:
    """Write the matrices of a gate on one wire; return their form, 0 where there is none."""
    for name in static(FIXED_SINGLE):
        if code == GATES[name].code:
            for group in range(lanes.groups):
                write_fresh(lanes, group, 0, FIXED_SINGLE[name], form_of(FIXED_SINGLE[name]))
            return form_of(FIXED_SINGLE[name])
    form: i64 = 0
    for name in static(PARAMETRIC_SINGLE):
        if code == GATES[name].code:
            for group in range(lanes.groups):
                place = WIDTH * group
                loads = [
                    load_unaligned(p0, place), load_unaligned(p1, place), load_unaligned(p2, place)
                ]  # fmt: skip
                matrix = PARAMETRIC_SINGLE[name](*loads[: GATES[name].parameters])
                write_fresh(lanes, group, 0, matrix, form_of(matrix))
                form = form_of(matrix)
    return form


@kernel
def write_pair(lanes: Lanes, code: i64, parameter: ptr[f64]) -> i64:
    """Write the two matrices of a gate on two wires; return their forms and shape, or -1."""
    for name in static(FIXED_PAIRS):
        if code == GATES[name].code:
            shape, one, other = FIXED_PAIRS[name]
            for group in range(lanes.groups):
                write_fresh(lanes, group, 0, one, form_of(one))
                write_fresh(lanes, group, 1, other, form_of(other))
            return form_of(one) | form_of(other) << FORM_BITS | shape << 2 * FORM_BITS
    found: i64 = -1
    for name in static(PARAMETRIC_PAIRS):
        if code == GATES[name].code:
            shape, one_of, other_of = PARAMETRIC_PAIRS[name]
            for group in range(lanes.groups):
                angle = load_unaligned(parameter, WIDTH * group)
                one, other = one_of(angle), other_of(angle)
                write_fresh(lanes, group, 0, one, form_of(one))
                write_fresh(lanes, group, 1, other, form_of(other))
                found = form_of(one) | form_of(other) << FORM_BITS | shape << 2 * FORM_BITS
    return found


@kernel
def write_turns(lanes: Lanes, angles: ptr[f64]) -> None:
    """Write the matrices of RZ without its phase of |0>, which becomes the lane's.

    Half of the amplitudes are left as they are then, and RZ after RY has two real numbers.
    """
    lanes.has_phase = 1
    for group in range(lanes.groups):
        half = 0.5 * load_unaligned(angles, WIDTH * group)
        c, s = cos(half), sin(half)
        turn = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, c * c - s * s, 2.0 * (c * s)]
        write_fresh(lanes, group, 0, turn, PHASE)
        active = active_of(lanes, group)
        x, y = lanes.phases[2 * group], lanes.phases[2 * group + 1]
        lanes.phases[2 * group] = select(active, x * c + y * s, x)
        lanes.phases[2 * group + 1] = select(active, y * c - x * s, y)


@kernel
def flip(state: State, target: i64, mask: i64, value: i64) -> None:
    """X on a bit, with controls."""
    lanes = lanes_of(state)
    for group in range(lanes.groups):
        write_fresh(lanes, group, 0, PAULI_X, form_of(PAULI_X))
    apply_fresh(state, form_of(PAULI_X), True, target, mask, value, 0)


@kernel
def swap(state: State, first: i64, second: i64, mask: i64, value: i64) -> None:
    """Exchange two bits, with controls; by name where all lanes do."""
    lanes = lanes_of(state)
    if mask == 0 and lanes.all_active != 0:
        exchange_names(state, first, second)
        return
    both = 1 << first | 1 << second
    settle(state, mask, both)
    # Of |01> and |10>: the first bit is 0 where the second one is 1.
    mask, value = mask | (1 << second), value | (1 << second)
    if can_rename(lanes):
        exchange(state, first, both, mask, value)
        return
    for group in range(lanes.groups):
        write_fresh(lanes, group, 0, PAULI_X, form_of(PAULI_X))
    sweep(state, form_of(PAULI_X), first, both, mask, value, lanes.fresh)


@kernel
def apply_pair_gate(
    state: State, shapes: i64, first: i64, second: i64, mask: i64, value: i64
) -> None:
    """Apply the two fresh matrices of a gate on two bits."""
    lanes = lanes_of(state)
    one = shapes & ((1 << FORM_BITS) - 1)
    other = (shapes >> FORM_BITS) & ((1 << FORM_BITS) - 1)
    shape = shapes >> (2 * FORM_BITS)
    matrices, others = lanes.fresh, lanes.fresh + lanes.groups * MATRIX
    if shape == PARITY:
        both = 1 << first | 1 << second
        settle(state, mask, both)
        fixed = mask | (1 << second)
        if one != 0:
            sweep(state, one, first, both, fixed, value, matrices)
        sweep(state, other, first, both, fixed, value | (1 << second), others)
        return
    selector = 1 << first
    if one != 0:
        apply_fresh(state, one, False, second, mask | selector, value, 0)
    if other != 0:
        apply_fresh(state, other, False, second, mask | selector, value | selector, 1)
    if shape == SELECTED_THEN_FLIP:
        flip(state, first, mask, value)
    if shape == SELECTED_THEN_SWAP:
        swap(state, first, second, mask, value)


@kernel
def apply_single(
    state: State,
    code: i64,
    target: i64,
    mask: i64,
    value: i64,
    p0: ptr[f64],
    p1: ptr[f64],
    p2: ptr[f64],
) -> i1:
    """Apply a gate on one bit; false where there is no such gate."""
    if code == RZ and mask == 0:
        write_turns(lanes_of(state), p0)
        apply_fresh(state, PHASE, False, target, 0, 0, 0)
        return True
    form = write_single(lanes_of(state), code, p0, p1, p2)
    if form == 0:
        return False
    apply_fresh(state, form, code == X, target, mask, value, 0)
    return True


@kernel
def apply_gate(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    mask: i64,
    value: i64,
    wire0: i64,
    wire1: i64,
    p0: ptr[f64],
    p1: ptr[f64],
    p2: ptr[f64],
) -> None:
    """Apply a gate on one or two wires with (checked) controls."""
    first_mask = add_to_mask(context, state, site, wire0, mask)
    if first_mask < 0:
        return
    first = state.bit_of_wire[wire0]
    if lanes_of(state).active_lanes != 0:
        if code == IDENTITY_GATE or apply_single(state, code, first, mask, value, p0, p1, p2):
            return
    elif is_on_one_wire(code):
        return
    if add_to_mask(context, state, site, wire1, first_mask) < 0:
        return
    second = state.bit_of_wire[wire1]
    if lanes_of(state).active_lanes == 0:
        return
    base = base_of_controlled(code)
    if base >= 0:
        apply_single(state, base, second, first_mask, value | (1 << first), p0, p1, p2)
    elif code == SWAP:
        swap(state, first, second, mask, value)
    else:
        shapes = write_pair(lanes_of(state), code, p0)
        if shapes < 0:
            # No wording of its own: lowering takes codes from the table; a mistake of ours.
            fail(context, SIZE_MISMATCH, site, code, len(GATES))
            return
        apply_pair_gate(state, shapes, first, second, mask, value)


@kernel
def gate(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    wire0: i64,
    wire1: i64,
    p0: ptr[f64],
    p1: ptr[f64],
    p2: ptr[f64],
) -> None:
    """Apply a named gate on one or two wires, with controls, in the lanes that are active."""
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_controls, controls, 0)
    if mask < 0:
        return
    value = control_value(state, n_controls, controls, control_values)
    state.gates += lanes_of(state).active_lanes
    q0, q1, q2 = usable(state, p0, 0), usable(state, p1, 1), usable(state, p2, 2)
    apply_gate(context, state, site, code, mask, value, wire0, wire1, q0, q1, q2)
