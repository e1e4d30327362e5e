"""What is computed of a length before any transform of it: radices, roots of unity.

A `Plan` has one of these methods:

* `SMOOTH`: passes over a group (`passes`); the roots of each pass, at its offset;
* `CONVOLUTION`, of Bluestein, for a length with a large prime factor: `x[k] * chirp[k]` convolved
  with the conjugate chirp by transforms of a smooth length (`first`), of which this has the chirp
  and the transform of the other factor;
* `PRODUCT`, for one transform: all transforms of one factor of the length (`first`) side by side,
  a rotation of each element, and all of the other (`second`);
* `ALONE`, for one transform that is too short to be split: in a group of its own (`first`);
* `REAL`: roots by which a transform of real numbers comes from one of half the length.
"""

from math import pi
from typing import Annotated

from diastase_engine.fourier.lanes import LANES, SINGLE
from diastase_engine.fourier.passes import LARGEST
from diastase_engine.fourier.pool import divide
from diastase_engine.language import *

cos = external("cos", [f64], f64)
sin = external("sin", [f64], f64)

SMOOTH, CONVOLUTION, PRODUCT, ALONE, REAL = range(5)
MOST_PASSES = 64
NUMBER_BYTES = derived(lambda single: 8 >> single, SINGLE)


class Plan(Record):
    """See above."""

    use: i64
    """What it is for (`planning`)."""
    length: i64
    next: ptr[f64]
    """The next plan in the table, or null."""
    is_kept: i64
    """Whether it is in the table."""
    method: i64
    size: i64
    """Bytes."""
    room: i64
    """Elements that a group needs."""
    passes: i64
    radices: Annotated[ptr[i64], MOST_PASSES]
    offsets: Annotated[ptr[i64], MOST_PASSES]
    first: ptr[f64]
    second: ptr[f64]
    roots: ptr[f64]
    """Of `stored` numbers, as pairs."""


@kernel
def root(k: i64, length: i64, cosine_and_sine: ptr[f64]) -> None:
    """`exp(-2 pi i k / length)`, of an angle of at most pi/4, for k below 2**50."""
    eighths: i64 = 8 * k
    turn = 8 * length
    while eighths >= turn:
        eighths -= turn
    is_below = eighths > 4 * length
    if is_below:
        eighths = turn - eighths
    is_left = eighths > 2 * length
    if is_left:
        eighths = 4 * length - eighths
    is_steep = eighths > length
    if is_steep:
        eighths = 2 * length - eighths
    angle = pi / 4 * (to_float(eighths) / to_float(length))
    x, y = cos(angle), sin(angle)
    cosine, sine = select(is_steep, y, x), select(is_steep, x, y)
    cosine_and_sine[0] = select(is_left, -cosine, cosine)
    cosine_and_sine[1] = select(is_below, sine, -sine)


@kernel
def write_root(roots: ptr[f64], place: i64, k: i64, length: i64) -> None:
    """Write a root to the place of a pair."""
    pair = stack_array(f64, 2)
    root(k, length, pair)
    numbers = cast(roots, ptr[stored])
    numbers[2 * place] = pair[0]
    numbers[2 * place + 1] = pair[1]


@kernel
def factors(length: i64, radices: ptr[i64]) -> i64:
    """Write the radices of a length; how many there are, 0 where a prime factor is too large."""
    rest: i64 = length
    twos: i64 = count_trailing_zeros(length)
    rest = rest >> twos
    passes: i64 = 0
    radix: i64 = 3
    while radix <= LARGEST:
        while divide(rest, radix) * radix == rest:
            radices[passes] = radix
            passes += 1
            rest = divide(rest, radix)
        radix = LARGEST + 1 if rest == 1 else radix + 2
    while twos > 0:
        bits: i64 = 3
        if twos == 4 or twos == 2:
            bits = 2
        if twos == 1:
            bits = 1
        radices[passes] = 1 << bits
        passes += 1
        twos -= bits
    return passes if rest == 1 else -1


@kernel
def has_kernel(radix: i64) -> i1:
    """Whether there is a kernel for a radix: others need the roots of its order."""
    return radix <= 8 or radix == 11 or radix == 13


@kernel
def roots_of_passes(length: i64, passes: i64, radices: ptr[i64], offsets: ptr[i64]) -> i64:
    """Write where the roots of each pass begin; how many pairs there are."""
    pairs: i64 = 0
    rest: i64 = length
    for number in range(passes):
        rest = divide(rest, radices[number])
        offsets[number] = pairs
        pairs += rest * (radices[number] - 1)
        if not has_kernel(radices[number]):
            pairs += radices[number]
    return pairs


@kernel
def write_roots(plan: Plan) -> None:
    """Write the roots of all passes."""
    rest: i64 = plan.length
    for number in range(plan.passes):
        radix = plan.radices[number]
        m = divide(rest, radix)
        place: i64 = plan.offsets[number]
        if not has_kernel(radix):
            for k in range(radix):
                write_root(plan.roots, place, k, radix)
                place += 1
        for p in range(m):
            for k in range(1, radix):
                write_root(plan.roots, place, p * k, rest)
                place += 1
        rest = m


@kernel
def write_chirp(plan: Plan) -> None:
    """Write `exp(-pi i k**2 / length)` for all elements."""
    square: i64 = 0
    period = 2 * plan.length
    for k in range(plan.length):
        write_root(plan.roots, k, square, period)
        square += 2 * k + 1
        if square >= period:
            square -= period


@kernel
def write_rotations(plan: Plan, rows: i64, columns: i64) -> None:
    """Write the roots of `row * lane`, as vectors, and then of `row * column` of each block."""
    roots = cast(plan.roots, ptr[stored])
    pair = stack_array(f64, 2)
    for row in range(rows):
        for lane in range(LANES):
            root(row * lane, plan.length, pair)
            roots[2 * row * LANES + lane] = pair[0]
            roots[(2 * row + 1) * LANES + lane] = pair[1]
    place: i64 = rows * LANES
    column: i64 = 0
    while column < columns:
        for row in range(rows):
            write_root(plan.roots, place, row * column, plan.length)
            place += 1
        column += LANES
