"""Passes over amplitudes with matrices in the form of `ratios`; otherwise as in `sweeps`.

With (x, z) a pair of amplitudes in the order of the columns, the simple row is x + r z, the other
one k (s x + z). A pass of pairs of blocks reads and writes them in either order. In a pass over
blocks whose target is a lane bit, each lane has the numbers of its own row, and adds a multiple of
its partner to itself, or one of itself to its partner; where lanes differ in that, they are
exchanged first.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, State
from diastase_engine.state_vector.tiles.sweeps import PARTNERS, next_block

NO_FORM, REAL, IMAGINARY = range(3)


class Ratios(Record):
    """A matrix in this form."""

    form: i64
    row: i64
    """The simple one."""
    column: i64
    """Where it has the one."""
    first: f64
    """`r`."""
    second: f64
    """`s`."""
    real: f64
    imaginary: f64
    """Of `k`."""


@inline
def add_multiple(
    x: vector, y: vector, z: vector, w: vector, ratio: vector, imaginary: bool
) -> tuple[vector, vector]:
    """(x + iy) plus a real or imaginary multiple of (z + iw)."""
    if imaginary:
        return x - ratio * w, y + ratio * z
    return x + ratio * z, y + ratio * w


@inline
def of_lanes(lanes: lane_set, matched: f64, otherwise: f64) -> vector:
    """A number of either matrix, as `sweeps.coefficient`."""
    return select(lanes, broadcast(matched), broadcast(otherwise))


@inline
def pass_pairs(
    state: State,
    target: i64,
    fixed: i64,
    value: i64,
    lanes: lane_set,
    row: i64,
    column: i64,
    matched: Ratios,
    otherwise: Ratios,
    imaginary: bool,
) -> None:
    """A pass of pairs of blocks."""
    r = of_lanes(lanes, matched.first, otherwise.first)
    s = of_lanes(lanes, matched.second, otherwise.second)
    k = of_lanes(lanes, matched.real, otherwise.real)
    m = of_lanes(lanes, matched.imaginary, otherwise.imaginary)
    amplitudes = state.amplitudes
    stride = 2 << (target - LANE_BITS)
    simple, other = amplitudes + row * stride, amplitudes + (1 - row) * stride
    one, beside = amplitudes + column * stride, amplitudes + (1 - column) * stride
    every = fixed | (1 << (target - LANE_BITS))
    block: i64 = 0
    for _ in range(state.blocks >> count_ones(every)):
        p = 2 * (block | value)
        x, y, z, w = one[p], one[p + 1], beside[p], beside[p + 1]
        u, v = add_multiple(z, w, x, y, s, imaginary)
        simple[p], simple[p + 1] = add_multiple(x, y, z, w, r, imaginary)
        other[p], other[p + 1] = k * u - m * v, k * v + m * u
        block = next_block(block, every)


@inline
def chosen_lanes(lanes: lane_set, matched: i64, otherwise: i64) -> lane_set:
    """Say for each lane whether a number (0 or 1) of its matrix is 1."""
    others = lanes ^ lanes_match(0, 0)
    return (lanes_match(0, 1 - matched) & lanes) | (lanes_match(0, 1 - otherwise) & others)


@inline
def pass_lanes(
    state: State,
    target: int,
    fixed: i64,
    value: i64,
    lanes: lane_set,
    matched: Ratios,
    otherwise: Ratios,
    imaginary: bool,
    mixed: bool,
) -> None:
    """A pass over blocks, for a (static) lane target; `mixed` where some are exchanged."""
    exchanged = chosen_lanes(lanes, matched.row ^ matched.column, otherwise.row ^ otherwise.column)
    simple = lanes_match(1 << target, 0) ^ chosen_lanes(lanes, matched.row, otherwise.row)
    first = of_lanes(lanes, matched.first, otherwise.first)
    second = of_lanes(lanes, matched.second, otherwise.second)
    ratio = select(simple, first, second)
    k = select(simple, broadcast(1.0), of_lanes(lanes, matched.real, otherwise.real))
    m = select(simple, broadcast(0.0), of_lanes(lanes, matched.imaginary, otherwise.imaginary))
    amplitudes = state.amplitudes
    block: i64 = 0
    for _ in range(state.blocks >> count_ones(fixed)):
        p = 2 * (block | value)
        x, y = amplitudes[p], amplitudes[p + 1]
        z, w = shuffle(x, PARTNERS[target]), shuffle(y, PARTNERS[target])
        if mixed:
            a, b = select(exchanged, z, x), select(exchanged, w, y)
            c, d = select(exchanged, x, z), select(exchanged, y, w)
            u, v = add_multiple(a, b, c, d, ratio, imaginary)
            amplitudes[p], amplitudes[p + 1] = k * u - m * v, k * v + m * u
        else:
            u, v = add_multiple(x, y, z, w, ratio, imaginary)
            amplitudes[p], amplitudes[p + 1] = k * u - m * v, k * v + m * u
        block = next_block(block, fixed)


@inline
def passes(
    state: State,
    target: i64,
    fixed: i64,
    value: i64,
    lanes: lane_set,
    row: i64,
    column: i64,
    exchanged: i64,
    matched: Ratios,
    otherwise: Ratios,
    imaginary: bool,
) -> None:
    """A pass of either kind."""
    if target >= LANE_BITS:
        pass_pairs(
            state, target, fixed, value, lanes, row, column, matched, otherwise, imaginary
        )  # fmt: skip
    for lane in static(range(LANE_BITS)):
        if target == lane:
            if exchanged == 0:
                pass_lanes(
                    state, lane, fixed, value, lanes, matched, otherwise, imaginary, False
                )  # fmt: skip
            else:
                pass_lanes(
                    state, lane, fixed, value, lanes, matched, otherwise, imaginary, True
                )  # fmt: skip


@kernel
def ratio_pass(
    state: State,
    target: i64,
    fixed: i64,
    value: i64,
    lane_mask: i64,
    lane_value: i64,
    matched: Ratios,
    otherwise: Ratios,
) -> None:
    """One pass over a whole state; bits as `sweeps.sweep` has them."""
    lanes = lanes_match(lane_mask, lane_value)
    form, row, column = matched.form, matched.row, matched.column
    exchanged = row ^ column
    if lane_mask == 0 and lane_value != 0:
        form, row, column = otherwise.form, otherwise.row, otherwise.column
        exchanged = row ^ column
    elif lane_mask != 0:
        exchanged |= otherwise.row ^ otherwise.column
    if form == REAL:
        passes(
            state, target, fixed, value, lanes, row, column, exchanged, matched, otherwise, False
        )  # fmt: skip
    else:
        passes(
            state, target, fixed, value, lanes, row, column, exchanged, matched, otherwise, True
        )  # fmt: skip
