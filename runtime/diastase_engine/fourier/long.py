"""One transform by itself, of complex numbers that lie side by side.

Of a length `rows * columns`: all columns are transformed, element `(row, column)` is rotated by
`exp(-2 pi i row * column / length)`, then all rows are; what is at `(row, column)` then belongs at
`row + rows * column`. So both steps are of groups, and caches hold what each of them works on.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.fourier.groups import run_group
from diastase_engine.fourier.lanes import (
    ELEMENT_BYTES,
    LANES,
    load_columns,
    load_rows,
    store_columns,
)
from diastase_engine.fourier.plans import ALONE, NUMBER_BYTES, PRODUCT, Plan
from diastase_engine.fourier.pool import (
    PARALLEL_POINTS,
    allocate,
    divide,
    free,
    is_over,
    run_parallel,
)
from diastase_engine.language import *

ROOM_ON_STACK = 128
"""Elements of a group for which nothing is allocated."""
SHORT = 1024
"""Numbers between the two steps for which nothing is allocated."""


class Job(Record):
    """A transform of a length that is a product, on all threads."""

    context: CallContext
    site: i64
    plan: Plan
    source: ptr[stored]
    target: ptr[stored]
    between: ptr[stored]
    rows: i64
    columns: i64
    flip: i64
    scale: f64


@kernel
def rotate(plan: Plan, work: ptr[vector], rows: i64, block: i64) -> None:
    """Rotate the elements of a block of columns; row 0 stays."""
    roots = cast(plan.roots, ptr[stored])
    of_lanes = cast(roots, ptr[vector])
    of_block = roots + 2 * rows * (LANES + block)
    for row in range(1, rows):
        c, d = broadcast(of_block[2 * row]), broadcast(of_block[2 * row + 1])
        x, y = work[2 * row], work[2 * row + 1]
        u, v = of_lanes[2 * row], of_lanes[2 * row + 1]
        p, q = x * u - y * v, x * v + y * u
        work[2 * row], work[2 * row + 1] = p * c - q * d, p * d + q * c


@kernel
def transform_columns(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform blocks of columns, and rotate them."""
    job = cast(argument, Job)
    inner = cast(job.plan.first, Plan)
    room = inner.room
    stack = stack_array(vector, 4 * ROOM_ON_STACK)
    work: ptr[vector] = stack
    if room > ROOM_ON_STACK:
        work = cast(allocate(job.context, job.site, 2 * ELEMENT_BYTES * room), ptr[vector])
        if is_null(work):
            return
    for block in range(first, last):
        if is_over(job.context):
            break
        column = block * LANES
        lanes = LANES if column + LANES <= job.columns else job.columns - column
        step = 2 * job.columns
        load_columns(work, job.source + 2 * column, job.rows, step, lanes, job.flip)
        result: ptr[vector] = work
        if run_group(inner, work, work + 2 * room) == 1:
            result = work + 2 * room
        rotate(job.plan, result, job.rows, block)
        store_columns(result, job.between + 2 * column, job.rows, step, lanes, 0, 1.0)
    if room > ROOM_ON_STACK:
        free(cast(work, ptr[f64]))


@kernel
def transform_rows(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform blocks of rows, and put them where they belong."""
    job = cast(argument, Job)
    outer = cast(job.plan.second, Plan)
    room = outer.room
    stack = stack_array(vector, 4 * ROOM_ON_STACK)
    work: ptr[vector] = stack
    if room > ROOM_ON_STACK:
        work = cast(allocate(job.context, job.site, 2 * ELEMENT_BYTES * room), ptr[vector])
        if is_null(work):
            return
    for block in range(first, last):
        if is_over(job.context):
            break
        row = block * LANES
        lanes = LANES if row + LANES <= job.rows else job.rows - row
        source = job.between + 2 * row * job.columns
        load_rows(work, source, job.columns, 2 * job.columns, lanes, 0)
        result: ptr[vector] = work
        if run_group(outer, work, work + 2 * room) == 1:
            result = work + 2 * room
        target = job.target + 2 * row
        store_columns(result, target, job.columns, 2 * job.rows, lanes, job.flip, job.scale)
    if room > ROOM_ON_STACK:
        free(cast(work, ptr[f64]))


@inline
def blocks_of(count: i64) -> i64:
    """How many groups there are of so many transforms."""
    return divide(count + LANES - 1, LANES)


@kernel
def transform_product(
    context: CallContext, site: i64, plan: Plan, source: ptr[stored], target: ptr[stored],
    flip: i64, scale: f64,
) -> None:  # fmt: skip
    """Transform a length that is a product."""
    job = stack_record(Job)
    job.context, job.site, job.plan = context, site, plan
    job.source, job.target = source, target
    job.rows, job.columns = cast(plan.first, Plan).length, cast(plan.second, Plan).length
    job.flip, job.scale = flip, scale
    job.between = stack_array(stored, SHORT)
    if 2 * plan.length > SHORT:
        between = allocate(context, site, 2 * NUMBER_BYTES * plan.length)
        if is_null(between):
            return
        job.between = cast(between, ptr[stored])
    argument = cast(job, ptr[f64])
    run_parallel(code_of(transform_columns), argument, blocks_of(job.columns), plan.length)
    run_parallel(code_of(transform_rows), argument, blocks_of(job.rows), plan.length)
    if 2 * plan.length > SHORT:
        free(cast(job.between, ptr[f64]))


@kernel
def transform_alone(
    context: CallContext, site: i64, plan: Plan, source: ptr[stored], target: ptr[stored],
    flip: i64, scale: f64,
) -> None:  # fmt: skip
    """Transform in the first lane of a group."""
    room = plan.room
    stack = stack_array(vector, 4 * ROOM_ON_STACK)
    work: ptr[vector] = stack
    if room > ROOM_ON_STACK:
        work = cast(allocate(context, site, 2 * ELEMENT_BYTES * room), ptr[vector])
        if is_null(work):
            return
    load_columns(work, source, plan.length, 2, 1, flip)
    result: ptr[vector] = work
    if run_group(plan, work, work + 2 * room) == 1:
        result = work + 2 * room
    store_columns(result, target, plan.length, 2, 1, flip, scale)
    if room > ROOM_ON_STACK:
        free(cast(work, ptr[f64]))


@kernel
def multiply_pairs(
    target: ptr[stored], source: ptr[stored], factors: ptr[stored], count: i64, flip: i64, scale: f64
) -> None:
    """Products of complex numbers, whose parts change places if `flip` is 1."""
    for k in range(count):
        x, y = source[2 * k + flip], source[2 * k + 1 - flip]
        c, d = factors[2 * k], factors[2 * k + 1]
        target[2 * k], target[2 * k + 1] = (x * c - y * d) * scale, (x * d + y * c) * scale


@kernel
def exchange_pairs(target: ptr[stored], count: i64) -> None:
    """Exchange the parts of complex numbers."""
    for k in range(count):
        x, y = target[2 * k], target[2 * k + 1]
        target[2 * k], target[2 * k + 1] = y, x


@kernel
def convolve(
    context: CallContext, site: i64, plan: Plan, source: ptr[stored], target: ptr[stored],
    flip: i64, scale: f64,
) -> None:  # fmt: skip
    """Transform by a convolution of a smooth length."""
    smooth = cast(plan.first, Plan)
    count, length = smooth.length, plan.length
    memory = allocate(context, site, 2 * NUMBER_BYTES * count)
    if is_null(memory):
        return
    work = cast(memory, ptr[stored])
    chirp = cast(plan.roots, ptr[stored])
    multiply_pairs(work, source, chirp, length, flip, 1.0)
    for k in range(2 * length, 2 * count):
        work[k] = 0.0
    transform_one(context, site, smooth, work, work, 0, 1.0)
    multiply_pairs(work, work, chirp + 2 * length, count, 0, 1.0)
    transform_one(context, site, smooth, work, work, 1, 1.0)
    multiply_pairs(target, work, chirp, length, 0, scale)
    if flip == 1:
        exchange_pairs(target, length)
    free(memory)


@kernel
def transform_one(
    context: CallContext, site: i64, plan: Plan, source: ptr[stored], target: ptr[stored],
    flip: i64, scale: f64,
) -> None:  # fmt: skip
    """Transform once; the target may be the source."""
    if plan.method == PRODUCT:
        transform_product(context, site, plan, source, target, flip, scale)
    elif plan.method == ALONE:
        transform_alone(context, site, cast(plan.first, Plan), source, target, flip, scale)
    else:
        convolve(context, site, plan, source, target, flip, scale)
