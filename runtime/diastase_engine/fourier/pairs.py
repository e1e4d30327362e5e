"""Complex numbers side by side in an array, as many at a time as a vector has lanes.

Also halves of spectra of real numbers, taken apart from a spectrum of pairs of them and put
together again: element `k` of either comes from elements `k` and `half - k` of the other.
"""

from collections.abc import Callable
from typing import Any

from diastase_engine.fourier.lanes import EVEN, FIRST_PAIRS, LANES, LAST_PAIRS, ODD
from diastase_engine.language import *

BACKWARDS = derived(lambda lanes: list(range(lanes - 1, -1, -1)), LANES)


@inline
def load_pairs(source: ptr[stored], k: i64) -> list[vector]:
    """Real and imaginary parts of numbers `k` and those after it."""
    low, high = load_unaligned(source, 2 * k), load_unaligned(source, 2 * k + LANES)
    return [shuffle_pair(low, high, EVEN), shuffle_pair(low, high, ODD)]


@inline
def store_pairs(target: ptr[stored], k: i64, real: vector, imaginary: vector) -> None:
    """Write numbers `k` and those after it."""
    store_unaligned(target, 2 * k, shuffle_pair(real, imaginary, FIRST_PAIRS))
    store_unaligned(target, 2 * k + LANES, shuffle_pair(real, imaginary, LAST_PAIRS))


@kernel
def multiply_pairs(
    target: ptr[stored],
    source: ptr[stored],
    factors: ptr[stored],
    count: i64,
    flip: i64,
    scale: f64,
) -> None:
    """Products of complex numbers, whose parts change places if `flip` is 1."""
    k: i64 = 0
    factor = broadcast(scale)
    while k + LANES <= count:
        parts, roots = load_pairs(source, k), load_pairs(factors, k)
        x, y = select(flip == 1, parts[1], parts[0]), select(flip == 1, parts[0], parts[1])
        u, v = x * roots[0] - y * roots[1], x * roots[1] + y * roots[0]
        store_pairs(target, k, u * factor, v * factor)
        k += LANES
    while k < count:
        a, b = source[2 * k + flip], source[2 * k + 1 - flip]
        c, d = factors[2 * k], factors[2 * k + 1]
        target[2 * k], target[2 * k + 1] = (a * c - b * d) * scale, (a * d + b * c) * scale
        k += 1


@kernel
def exchange_pairs(target: ptr[stored], count: i64) -> None:
    """Exchange the parts of complex numbers."""
    k: i64 = 0
    while k + LANES <= count:
        parts = load_pairs(target, k)
        store_pairs(target, k, parts[1], parts[0])
        k += LANES
    while k < count:
        a, b = target[2 * k], target[2 * k + 1]
        target[2 * k], target[2 * k + 1] = b, a
        k += 1


@inline
def part(x: vector, y: vector, u: vector, v: vector, c: vector, d: vector) -> list[vector]:
    """Element k of a spectrum, and that of the other end, of those of pairs, `(x, y)`, `(u, v)`."""
    a, b = (x + u) * 0.5, (y - v) * 0.5
    f, g = (x - u) * 0.5, (y + v) * 0.5
    p, q = g * c + f * d, g * d - f * c
    return [a + p, b + q, a - p, q - b]


@inline
def joined(x: vector, y: vector, u: vector, v: vector, c: vector, d: vector) -> list[vector]:
    """The inverse, times 2."""
    a, b = x + u, y - v
    f, g = x - u, y + v
    p, q = f * c + g * d, g * c - f * d
    return [a - q, b + p, a + q, p - b]


@inline
def both_ends(
    target: ptr[stored],
    row: ptr[stored],
    roots: ptr[stored],
    half: i64,
    formula: Callable[..., Any],
) -> None:
    """Apply a formula to all elements but the first and the last."""
    k: i64 = 1
    while 2 * (k + LANES) <= half:
        end = half - k - LANES + 1
        near, far, factors = load_pairs(row, k), load_pairs(row, end), load_pairs(roots, k)
        u, v = shuffle(far[0], BACKWARDS), shuffle(far[1], BACKWARDS)
        made = formula(near[0], near[1], u, v, factors[0], factors[1])
        store_pairs(target, k, made[0], made[1])
        store_pairs(target, end, shuffle(made[2], BACKWARDS), shuffle(made[3], BACKWARDS))
        k += LANES
    while 2 * k <= half:
        low, high = row + 2 * k, row + 2 * (half - k)
        parts = formula(low[0], low[1], high[0], high[1], roots[2 * k], roots[2 * k + 1])
        last = target + 2 * (half - k)
        last[0], last[1] = parts[2], parts[3]
        target[2 * k], target[2 * k + 1] = parts[0], parts[1]
        k += 1


@kernel
def split_row(row: ptr[stored], roots: ptr[stored], half: i64) -> None:
    """Make the spectrum of a real row from that of pairs; there is room for one element more."""
    x, y = row[0], row[1]
    row[0], row[1] = x + y, 0.0
    row[2 * half], row[2 * half + 1] = x - y, 0.0
    both_ends(row, row, roots, half, part)


@kernel
def join_row(target: ptr[stored], row: ptr[stored], roots: ptr[stored], half: i64) -> None:
    """Make the spectrum of pairs, times 2, from that of a real row."""
    x, y = row[0], row[2 * half]
    target[0], target[1] = x + y, x - y
    both_ends(target, row, roots, half, joined)


@kernel
def split_group(work: ptr[vector], roots: ptr[stored], half: i64) -> None:
    """`split_row` of a group."""
    x, y = work[0], work[1]
    work[0], work[1] = x + y, broadcast(0.0)
    work[2 * half], work[2 * half + 1] = x - y, broadcast(0.0)
    both_ends_of_group(work, roots, half, part)


@kernel
def join_group(work: ptr[vector], roots: ptr[stored], half: i64) -> None:
    """`join_row` of a group, in place."""
    x, y = work[0], work[2 * half]
    work[0], work[1] = x + y, x - y
    both_ends_of_group(work, roots, half, joined)


@inline
def both_ends_of_group(
    work: ptr[vector], roots: ptr[stored], half: i64, formula: Callable[..., Any]
) -> None:
    """The same in a group."""
    k: i64 = 1
    while 2 * k <= half:
        low, high = work + 2 * k, work + 2 * (half - k)
        c, d = broadcast(roots[2 * k]), broadcast(roots[2 * k + 1])
        made = formula(low[0], low[1], high[0], high[1], c, d)
        high[0], high[1] = made[2], made[3]
        low[0], low[1] = made[0], made[1]
        k += 1


@kernel
def mirror_group(work: ptr[vector], length: i64) -> None:
    """Complete spectra of real rows of an odd length."""
    work[1] = broadcast(0.0)
    for k in range(1, (length >> 1) + 1):
        work[2 * (length - k)], work[2 * (length - k) + 1] = work[2 * k], -work[2 * k + 1]
