"""Plans found in a table of the library, or made.

The table only grows, up to `MOST_BYTES`; so whoever has a plan of it may keep it, without locks or
counts, and also after a `fork`. What would not fit is made for one call (`drop`).
"""

from typing import Annotated

from diastase_engine.call_context import CallContext
from diastase_engine.fourier.lanes import LANES
from diastase_engine.fourier.long import transform_one
from diastase_engine.fourier.plans import (
    ALONE,
    CONVOLUTION,
    MOST_PASSES,
    NUMBER_BYTES,
    PRODUCT,
    REAL,
    SMOOTH,
    Plan,
    factors,
    roots_of_passes,
    write_chirp,
    write_root,
    write_roots,
    write_rotations,
)
from diastase_engine.fourier.pool import allocate, divide, free
from diastase_engine.language import *

FOR_GROUPS, FOR_ONE, FOR_REAL = range(3)
"""What a plan is for: groups of transforms, one by itself, real numbers of twice this length."""

BUCKETS = 256
MOST_BYTES = 1 << 28
SMALLEST_PRODUCT = 33
"""Shorter transforms are as fast in a group of their own."""
_LOPSIDED = 16
"""How many times larger than the other one a factor of a length may be."""


class Table(Record):
    """Plans by their use and length, and how much memory they have."""

    bytes: Annotated[ptr[i64], 8]
    buckets: Annotated[ptr[i64], BUCKETS]


_TABLE = shared(Table)


@kernel
def plan_of(context: CallContext, site: i64, use: i64, length: i64) -> Plan:
    """Find or make a plan; null where there is no memory for it."""
    bucket = _TABLE.buckets + ((3 * length + use) & (BUCKETS - 1))
    if atomic_load(bucket) != 0:
        plan: Plan = cast(cast(bucket, ptr[ptr[f64]])[0], Plan)
        while not is_null(plan):
            if plan.length == length and plan.use == use:
                return plan
            plan = cast(plan.next, Plan)
    return made(context, site, use, length)


@kernel
def made(context: CallContext, site: i64, use: i64, length: i64) -> Plan:
    """Make a plan, and put it into the table if there is room."""
    plan: Plan = null(Plan)
    if use == FOR_GROUPS:
        plan = plan_of_groups(context, site, length)
    elif use == FOR_ONE:
        plan = plan_of_one(context, site, length)
    else:
        plan = plan_of_reals(context, site, length)
    if is_null(plan):
        return plan
    plan.use = use
    if atomic_add(_TABLE.bytes, plan.size) + plan.size > MOST_BYTES:
        atomic_add(_TABLE.bytes, -plan.size)
        return plan
    plan.is_kept = 1
    bucket = _TABLE.buckets + ((3 * length + use) & (BUCKETS - 1))
    while True:
        head = atomic_load(bucket)
        plan.next = cast(bucket, ptr[ptr[f64]])[0]
        if address(plan.next) == head:
            if atomic_compare_exchange(bucket, head, address(plan)) == head:
                return plan
    return plan


@kernel
def drop(plan: Plan) -> None:
    """Say that a plan is not used any more by a call."""
    if is_null(plan):
        return
    if plan.is_kept == 0:
        drop(cast(plan.first, Plan))
        drop(cast(plan.second, Plan))
        free(cast(plan, ptr[f64]))


@kernel
def new_plan(context: CallContext, site: i64, length: i64, method: i64, pairs: i64) -> Plan:
    """Allocate a plan with room for so many roots."""
    head = (size_of(Plan) + 63) // 64 * 64
    size = head + 2 * NUMBER_BYTES * pairs
    memory = allocate(context, site, size)
    plan = cast(memory, Plan)
    if is_null(memory):
        return plan
    plan.length, plan.method, plan.room, plan.size = length, method, length, size
    plan.is_kept, plan.passes = 0, 0
    plan.next, plan.first, plan.second = null(ptr[f64]), null(ptr[f64]), null(ptr[f64])
    plan.roots = memory + head // 8
    return plan


@kernel
def plan_of_groups(context: CallContext, site: i64, length: i64) -> Plan:
    """Make a plan of passes, or of a convolution by passes."""
    radices, offsets = stack_array(i64, MOST_PASSES), stack_array(i64, MOST_PASSES)
    passes = factors(length, radices)
    if passes < 0:
        return plan_of_convolution(context, site, length, FOR_GROUPS)
    pairs = roots_of_passes(length, passes, radices, offsets)
    plan = new_plan(context, site, length, SMOOTH, pairs)
    if is_null(plan):
        return plan
    plan.passes = passes
    for number in range(passes):
        plan.radices[number] = radices[number]
        plan.offsets[number] = offsets[number]
    write_roots(plan)
    return plan


@kernel
def smooth_length(least: i64) -> i64:
    """The smallest length from this on of a few factors 2 and a factor that suits."""
    best: i64 = 0
    for odd in static((1, 3, 5, 7, 9, 15)):
        length: i64 = odd * LANES
        while length < least:
            length = 2 * length
        if best == 0 or length < best:
            best = length
    return best


@kernel
def plan_of_convolution(context: CallContext, site: i64, length: i64, use: i64) -> Plan:
    """Make a plan of a convolution, for groups or for one transform."""
    smooth = plan_of(context, site, use, smooth_length(2 * length - 1))
    if is_null(smooth):
        return smooth
    plan = new_plan(context, site, length, CONVOLUTION, length + smooth.length)
    if is_null(plan):
        drop(smooth)
        return plan
    plan.first = cast(smooth, ptr[f64])
    plan.room = smooth.length
    write_chirp(plan)
    chirp = cast(plan.roots, ptr[stored])
    spectrum = chirp + 2 * length
    for k in range(2 * smooth.length):
        spectrum[k] = 0.0
    for k in range(length):
        back = 0 if k == 0 else smooth.length - k
        spectrum[2 * k], spectrum[2 * k + 1] = chirp[2 * k], -chirp[2 * k + 1]
        spectrum[2 * back], spectrum[2 * back + 1] = chirp[2 * k], -chirp[2 * k + 1]
    other = plan_of(context, site, FOR_ONE, smooth.length)
    if is_null(other):
        drop(plan)
        return null(Plan)
    scale = 1.0 / to_float(smooth.length)
    transform_one(context, site, other, spectrum, spectrum, 0, scale)
    drop(other)
    return plan


@kernel
def waste(length: i64, rows: i64) -> i64:
    """How many elements groups have in which a length is split, whether used or not."""
    columns = divide(length, rows)
    full_columns = (columns + LANES - 1) & ~(LANES - 1)
    full_rows = (rows + LANES - 1) & ~(LANES - 1)
    return full_columns * rows + full_rows * columns


@kernel
def rows_of(length: i64) -> i64:
    """One of two factors of a length, near its square root; 1 if there are none."""
    best: i64 = 1
    divisor: i64 = to_integer(square_root(to_float(length)))
    while divisor > 1:
        other = divide(length, divisor)
        if divisor * other == length:
            if best == 1 or waste(length, divisor) < waste(length, best):
                best = divisor
            if waste(length, other) < waste(length, best):
                best = other
            if _LOPSIDED * divisor < other:
                break
        divisor -= 1
    return best


@kernel
def plan_of_one(context: CallContext, site: i64, length: i64) -> Plan:
    """Make a plan of one transform by itself."""
    radices = stack_array(i64, MOST_PASSES)
    rows: i64 = 1
    if length >= SMALLEST_PRODUCT:
        if factors(length, radices) < 0:
            return plan_of_convolution(context, site, length, FOR_ONE)
        rows = rows_of(length)
    if rows > 1:
        return plan_of_product(context, site, rows, divide(length, rows))
    plan = new_plan(context, site, length, ALONE, 0)
    if is_null(plan):
        return plan
    plan.first = cast(plan_of(context, site, FOR_GROUPS, length), ptr[f64])
    if is_null(plan.first):
        drop(plan)
        return null(Plan)
    return plan


@kernel
def plan_of_product(context: CallContext, site: i64, rows: i64, columns: i64) -> Plan:
    """Make a plan of a product of two lengths."""
    blocks = divide(columns + LANES - 1, LANES)
    plan = new_plan(context, site, rows * columns, PRODUCT, rows * (LANES + blocks))
    if is_null(plan):
        return plan
    plan.first = cast(plan_of(context, site, FOR_GROUPS, rows), ptr[f64])
    plan.second = cast(plan_of(context, site, FOR_GROUPS, columns), ptr[f64])
    if is_null(plan.first) or is_null(plan.second):
        drop(plan)
        return null(Plan)
    write_rotations(plan, rows, columns)
    return plan


@kernel
def plan_of_reals(context: CallContext, site: i64, length: i64) -> Plan:
    """Make the roots of twice this length, of which half are enough."""
    plan = new_plan(context, site, length, REAL, divide(length, 2) + 1)
    if is_null(plan):
        return plan
    for k in range(divide(length, 2) + 1):
        write_root(plan.roots, k, k, 2 * length)
    return plan
