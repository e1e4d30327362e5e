"""One transform by itself, of complex numbers that lie side by side.

Of a length `rows * columns`: all columns are transformed, element `(row, column)` is rotated by
`exp(-2 pi i row * column / length)`, then all rows are; what is at `(row, column)` then belongs at
`row + rows * column`. So both steps are of groups, and caches hold what each of them works on.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.fourier.groups import run_group, run_groups
from diastase_engine.fourier.lanes import (
    LANES,
    load_columns,
    load_rows,
    load_wide,
    store_columns,
    store_wide,
)
from diastase_engine.fourier.pairs import exchange_pairs, multiply_pairs
from diastase_engine.fourier.plans import ALONE, NUMBER_BYTES, PRODUCT, Plan
from diastase_engine.fourier.pool import allocate, divide, free, run_transforms
from diastase_engine.fourier.workspace import (
    ELEMENTS_ON_STACK,
    groups_at_once,
    in_areas,
    workspace,
)
from diastase_engine.language import *

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
    groups: i64
    """Of columns, or of rows, that are transformed together."""
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


@inline
def transform_column_part(job: Job, areas: ptr[ptr[vector]], part: i64) -> None:
    """Transform some groups of columns, and rotate them."""
    step = 2 * job.columns
    column = part * job.groups * LANES
    count = smaller(job.groups * LANES, job.columns - column)
    groups = divide(count + LANES - 1, LANES)
    load_wide(areas, job.source + 2 * column, job.rows, step, count, job.flip)
    run_groups(cast(job.plan.first, Plan), areas, groups)
    for group in range(groups):
        rotate(job.plan, areas[group], job.rows, part * job.groups + group)
    store_wide(areas, job.between + 2 * column, job.rows, step, count, 0, 1.0)


@kernel
def transform_columns(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform columns."""
    job = cast(argument, Job)
    room = cast(job.plan.first, Plan).room
    in_areas(job, room, job.groups + 1, first, last, transform_column_part)


@inline
def transform_row_part(job: Job, areas: ptr[ptr[vector]], part: i64) -> None:
    """Transform some groups of rows, and put them where they belong."""
    length = 2 * job.columns
    row = part * job.groups * LANES
    count = smaller(job.groups * LANES, job.rows - row)
    groups = divide(count + LANES - 1, LANES)
    for group in range(groups):
        lanes = smaller(LANES, count - group * LANES)
        source = job.between + (row + group * LANES) * length
        load_rows(areas[group], source, job.columns, length, lanes, 0)
    run_groups(cast(job.plan.second, Plan), areas, groups)
    target = job.target + 2 * row
    store_wide(areas, target, job.columns, 2 * job.rows, count, job.flip, job.scale)


@kernel
def transform_rows(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform rows."""
    job = cast(argument, Job)
    room = cast(job.plan.second, Plan).room
    in_areas(job, room, job.groups + 1, first, last, transform_row_part)


@inline
def smaller(left: i64, right: i64) -> i64:
    """The minimum."""
    return select(left < right, left, right)


@inline
def blocks_of(count: i64, size: i64) -> i64:
    """How many parts of a size there are in so many."""
    return divide(count + size - 1, size)


@kernel
def transform_product(
    context: CallContext, site: i64, plan: Plan, source: ptr[stored], target: ptr[stored],
    flip: i64, scale: f64,
) -> None:  # fmt: skip
    """Transform a length that is a product."""
    job = stack_record(Job)
    inner, outer = cast(plan.first, Plan), cast(plan.second, Plan)
    job.context, job.site, job.plan = context, site, plan
    job.source, job.target = source, target
    job.rows, job.columns = inner.length, outer.length
    job.flip, job.scale = flip, scale
    job.between = stack_array(stored, SHORT)
    if 2 * plan.length > SHORT:
        between = allocate(context, site, 2 * NUMBER_BYTES * plan.length)
        if is_null(between):
            return
        job.between = cast(between, ptr[stored])
    argument = cast(job, ptr[f64])
    job.groups = groups_at_once(inner.room, job.columns)
    parts = blocks_of(job.columns, job.groups * LANES)
    run_transforms(code_of(transform_columns), argument, parts, plan.length)
    job.groups = groups_at_once(outer.room, job.rows)
    parts = blocks_of(job.rows, job.groups * LANES)
    run_transforms(code_of(transform_rows), argument, parts, plan.length)
    if 2 * plan.length > SHORT:
        free(cast(job.between, ptr[f64]))


@kernel
def transform_alone(
    context: CallContext, site: i64, plan: Plan, source: ptr[stored], target: ptr[stored],
    flip: i64, scale: f64,
) -> None:  # fmt: skip
    """Transform in the first lane of a group."""
    room = plan.room
    stack = stack_array(vector, 2 * ELEMENTS_ON_STACK)
    work = workspace(context, site, room, 2, stack)
    if is_null(work):
        return
    load_columns(work, source, plan.length, 2, 1, flip)
    result: ptr[vector] = work
    if run_group(plan, work, work + 2 * room) == 1:
        result = work + 2 * room
    store_columns(result, target, plan.length, 2, 1, flip, scale)
    if address(work) != address(stack):
        free(cast(work, ptr[f64]))


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
