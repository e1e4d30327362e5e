"""Transforms of real numbers to half of the spectrum, and back, along the last axis.

Of an even length they are complex ones of half the length: pairs of real numbers are taken for
complex ones, and what comes out is taken apart by the symmetry of each part's spectrum. An odd
length is transformed as complex numbers.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.fourier.axis import is_grouped
from diastase_engine.fourier.groups import run_group
from diastase_engine.fourier.lanes import (
    ELEMENT_BYTES,
    LANES,
    load_real_rows,
    load_rows,
    store_real_rows,
    store_rows,
)
from diastase_engine.fourier.long import ROOM_ON_STACK, blocks_of, transform_one
from diastase_engine.fourier.planning import FOR_GROUPS, FOR_ONE, FOR_REAL, drop, plan_of
from diastase_engine.fourier.plans import NUMBER_BYTES, Plan
from diastase_engine.fourier.pool import allocate, free, is_over, run_parallel
from diastase_engine.language import *


class Reals(Record):
    """Transforms of rows of real numbers, on all threads."""

    context: CallContext
    site: i64
    plan: Plan
    roots: ptr[stored]
    """Of the length, if it is even."""
    source: ptr[stored]
    target: ptr[stored]
    outer: i64
    length: i64
    half: i64
    is_even: i64
    inverse: i64
    scale: f64


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


@kernel
def split_group(work: ptr[vector], roots: ptr[stored], half: i64) -> None:
    """Make spectra of real rows from those of pairs; there is room for one element more."""
    x, y = work[0], work[1]
    work[0], work[1] = x + y, broadcast(0.0)
    work[2 * half], work[2 * half + 1] = x - y, broadcast(0.0)
    k: i64 = 1
    while 2 * k <= half:
        low, high = work + 2 * k, work + 2 * (half - k)
        c, d = broadcast(roots[2 * k]), broadcast(roots[2 * k + 1])
        made = part(low[0], low[1], high[0], high[1], c, d)
        high[0], high[1] = made[2], made[3]
        low[0], low[1] = made[0], made[1]
        k += 1


@kernel
def join_group(work: ptr[vector], roots: ptr[stored], half: i64) -> None:
    """Make spectra of pairs, times 2, from those of real rows."""
    x, y = work[0], work[2 * half]
    work[0], work[1] = x + y, x - y
    k: i64 = 1
    while 2 * k <= half:
        low, high = work + 2 * k, work + 2 * (half - k)
        c, d = broadcast(roots[2 * k]), broadcast(roots[2 * k + 1])
        made = joined(low[0], low[1], high[0], high[1], c, d)
        high[0], high[1] = made[2], made[3]
        low[0], low[1] = made[0], made[1]
        k += 1


@kernel
def split_row(row: ptr[stored], roots: ptr[stored], half: i64) -> None:
    """`split_group` of one row."""
    x, y = row[0], row[1]
    row[0], row[1] = x + y, 0.0
    row[2 * half], row[2 * half + 1] = x - y, 0.0
    k: i64 = 1
    while 2 * k <= half:
        low, high = row + 2 * k, row + 2 * (half - k)
        made = part(low[0], low[1], high[0], high[1], roots[2 * k], roots[2 * k + 1])
        high[0], high[1] = made[2], made[3]
        low[0], low[1] = made[0], made[1]
        k += 1


@kernel
def join_row(target: ptr[stored], row: ptr[stored], roots: ptr[stored], half: i64) -> None:
    """`join_group` of one row, to another."""
    x, y = row[0], row[2 * half]
    target[0], target[1] = x + y, x - y
    k: i64 = 1
    while 2 * k <= half:
        low, high = row + 2 * k, row + 2 * (half - k)
        made = joined(low[0], low[1], high[0], high[1], roots[2 * k], roots[2 * k + 1])
        to, end = target + 2 * k, target + 2 * (half - k)
        end[0], end[1] = made[2], made[3]
        to[0], to[1] = made[0], made[1]
        k += 1


@kernel
def mirror_group(work: ptr[vector], length: i64) -> None:
    """Complete spectra of real rows of an odd length."""
    work[1] = broadcast(0.0)
    for k in range(1, (length >> 1) + 1):
        work[2 * (length - k)], work[2 * (length - k) + 1] = work[2 * k], -work[2 * k + 1]


@kernel
def transform_groups_of_reals(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform groups of rows."""
    job = cast(argument, Reals)
    length, half, scale = job.length, job.half, job.scale
    spectrum = 2 * (half + 1)
    room = job.plan.room + 1
    stack = stack_array(vector, 4 * ROOM_ON_STACK)
    work: ptr[vector] = stack
    if room > ROOM_ON_STACK:
        work = cast(allocate(job.context, job.site, 2 * ELEMENT_BYTES * room), ptr[vector])
        if is_null(work):
            return
    other = work + 2 * room
    for block in range(first, last):
        if is_over(job.context):
            break
        row = block * LANES
        lanes = LANES if row + LANES <= job.outer else job.outer - row
        result: ptr[vector] = work
        if job.inverse == 0:
            source, target = job.source + row * length, job.target + row * spectrum
            if job.is_even == 1:
                load_rows(work, source, half, length, lanes, 0)
            else:
                load_real_rows(work, source, length, length, lanes)
            if run_group(job.plan, work, other) == 1:
                result = other
            if job.is_even == 1:
                split_group(result, job.roots, half)
            store_rows(result, target, half + 1, spectrum, lanes, 0, scale)
        else:
            source, target = job.source + row * spectrum, job.target + row * length
            load_rows(work, source, half + 1, spectrum, lanes, 0)
            if job.is_even == 1:
                join_group(work, job.roots, half)
            else:
                mirror_group(work, length)
            exchange(work, half if job.is_even == 1 else length)
            if run_group(job.plan, work, other) == 1:
                result = other
            if job.is_even == 1:
                store_rows(result, target, half, length, lanes, 1, scale)
            else:
                store_real_rows(result, target, length, length, lanes, 1, scale)
    if room > ROOM_ON_STACK:
        free(cast(work, ptr[f64]))


@kernel
def exchange(work: ptr[vector], count: i64) -> None:
    """Exchange real and imaginary parts."""
    for k in range(count):
        x, y = work[2 * k], work[2 * k + 1]
        work[2 * k], work[2 * k + 1] = y, x


@kernel
def transform_each_of_reals(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform rows, each by itself."""
    job = cast(argument, Reals)
    length, half = job.length, job.half
    memory = allocate(job.context, job.site, 2 * NUMBER_BYTES * (length + 1))
    if is_null(memory):
        return
    work = cast(memory, ptr[stored])
    for row in range(first, last):
        if is_over(job.context):
            break
        if job.inverse == 0:
            forward(job, job.source + row * length, job.target + 2 * row * (half + 1), work)
        else:
            backward(job, job.source + 2 * row * (half + 1), job.target + row * length, work)
    free(memory)


@kernel
def forward(job: Reals, source: ptr[stored], target: ptr[stored], work: ptr[stored]) -> None:
    """Transform a row."""
    if job.is_even == 1:
        transform_one(job.context, job.site, job.plan, source, target, 0, job.scale)
        split_row(target, job.roots, job.half)
        return
    for k in range(job.length):
        work[2 * k], work[2 * k + 1] = source[k], 0.0
    transform_one(job.context, job.site, job.plan, work, work, 0, job.scale)
    for k in range(2 * (job.half + 1)):
        target[k] = work[k]


@kernel
def backward(job: Reals, source: ptr[stored], target: ptr[stored], work: ptr[stored]) -> None:
    """Transform half a spectrum."""
    if job.is_even == 1:
        join_row(work, source, job.roots, job.half)
        transform_one(job.context, job.site, job.plan, work, target, 1, job.scale)
        return
    work[0], work[1] = source[0], 0.0
    for k in range(1, job.half + 1):
        work[2 * k], work[2 * k + 1] = source[2 * k], source[2 * k + 1]
        end = 2 * (job.length - k)
        work[end], work[end + 1] = source[2 * k], -source[2 * k + 1]
    transform_one(job.context, job.site, job.plan, work, work, 1, job.scale)
    for k in range(job.length):
        target[k] = work[2 * k]


@kernel
def transform_reals(
    context: CallContext, site: i64, source: ptr[stored], target: ptr[stored],
    outer: i64, length: i64, inverse: i64, divisor: i64,
) -> None:  # fmt: skip
    """Transform real numbers to `length // 2 + 1` complex ones, or back."""
    if outer <= 0 or length <= 0 or context.code != 0:
        return
    job = stack_record(Reals)
    is_odd = length & 1
    half = length >> 1
    complex_length = length if is_odd == 1 else half
    grouped = is_grouped(outer, complex_length, 1)
    plan = plan_of(context, site, FOR_GROUPS if grouped else FOR_ONE, complex_length)
    if is_null(plan):
        return
    real: Plan = null(Plan)
    if is_odd == 0:
        real = plan_of(context, site, FOR_REAL, half)
        if is_null(real):
            drop(plan)
            return
        job.roots = cast(real.roots, ptr[stored])
    job.context, job.site, job.plan = context, site, plan
    job.source, job.target = source, target
    job.outer, job.length, job.half, job.is_even = outer, length, half, 1 - is_odd
    job.inverse, job.scale = inverse, 1.0 / to_float(divisor)
    argument = cast(job, ptr[f64])
    points = outer * half
    if grouped:
        run_parallel(code_of(transform_groups_of_reals), argument, blocks_of(outer), points)
    else:
        run_parallel(code_of(transform_each_of_reals), argument, outer, points)
    drop(plan)
    drop(real)
