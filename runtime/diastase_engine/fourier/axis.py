"""What programs call: transforms along an axis of an array, complex or real.

An array is `outer` times `length` times `inner` numbers, of which the middle ones are transformed.
`flip` is 1 for an inverse transform; results are divided by `divisor`. Source and target may be the
same array where they have the same size.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.fourier.groups import run_groups
from diastase_engine.fourier.lanes import LANES, load_rows, load_wide, store_rows, store_wide
from diastase_engine.fourier.long import blocks_of, smaller, transform_one
from diastase_engine.fourier.planning import FOR_GROUPS, FOR_ONE, SMALLEST_PRODUCT, drop, plan_of
from diastase_engine.fourier.plans import NUMBER_BYTES, Plan
from diastase_engine.fourier.pool import allocate, divide, free, run_transforms
from diastase_engine.fourier.workspace import groups_at_once, in_areas
from diastase_engine.language import *
from diastase_engine.threads.loops import is_over

LONGEST_IN_GROUP = 8192
"""A longer transform is taken by itself: a group of such does not fit into the caches."""
_COPIED = 8
"""Columns that are copied at once."""


class Axis(Record):
    """Transforms along an axis, on all threads."""

    context: CallContext
    site: i64
    plan: Plan
    source: ptr[stored]
    target: ptr[stored]
    outer: i64
    length: i64
    inner: i64
    flip: i64
    scale: f64
    groups: i64
    """Of columns that are transformed together."""
    parts: i64
    """Of the columns, for each of the outer numbers."""


@inline
def is_grouped(outer: i64, length: i64, inner: i64) -> i1:
    """Whether groups are better than one transform after the other."""
    return length < SMALLEST_PRODUCT or (length <= LONGEST_IN_GROUP and 2 * outer * inner >= LANES)


@inline
def transform_part(job: Axis, areas: ptr[ptr[vector]], part: i64) -> None:
    """Transform a group of rows, or several of columns."""
    length, inner = job.length, job.inner
    if inner == 1:
        row = part * LANES
        lanes = smaller(LANES, job.outer - row)
        at = 2 * row * length
        load_rows(areas[0], job.source + at, length, 2 * length, lanes, job.flip)
        run_groups(job.plan, areas, 1)
        store_rows(areas[0], job.target + at, length, 2 * length, lanes, job.flip, job.scale)
    else:
        number = divide(part, job.parts)
        column = (part - number * job.parts) * job.groups * LANES
        count = smaller(job.groups * LANES, inner - column)
        at = 2 * (number * length * inner + column)
        load_wide(areas, job.source + at, length, 2 * inner, count, job.flip)
        run_groups(job.plan, areas, divide(count + LANES - 1, LANES))
        store_wide(areas, job.target + at, length, 2 * inner, count, job.flip, job.scale)


@kernel
def transform_groups(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform groups of rows, or several groups of columns at a time."""
    job = cast(argument, Axis)
    in_areas(job, job.plan.room, job.groups + 1, first, last, transform_part)


@kernel
def transform_each(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform rows, each by itself."""
    job = cast(argument, Axis)
    for row in range(first, last):
        if is_over(job.context):
            return
        at = 2 * row * job.length
        source, target = job.source + at, job.target + at
        transform_one(job.context, job.site, job.plan, source, target, job.flip, job.scale)


@kernel
def copy_columns(
    target: ptr[stored], source: ptr[stored], length: i64, inner: i64, count: i64
) -> None:
    """Copy columns side by side into rows."""
    for k in range(length):
        for column in range(count):
            at = 2 * (column * length + k)
            target[at] = source[2 * (k * inner + column)]
            target[at + 1] = source[2 * (k * inner + column) + 1]


@kernel
def copy_rows(
    target: ptr[stored], source: ptr[stored], length: i64, inner: i64, count: i64
) -> None:
    """Copy rows into columns side by side."""
    for k in range(length):
        for column in range(count):
            at = 2 * (column * length + k)
            target[2 * (k * inner + column)] = source[at]
            target[2 * (k * inner + column) + 1] = source[at + 1]


@kernel
def transform_copies(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform columns, which are copied to where they lie side by side."""
    job = cast(argument, Axis)
    length, inner = job.length, job.inner
    most = _COPIED if inner > _COPIED else inner
    memory = allocate(job.context, job.site, 2 * NUMBER_BYTES * most * length)
    if is_null(memory):
        return
    rows = cast(memory, ptr[stored])
    for part in range(first, last):
        number = divide(part, job.parts)
        column = (part - number * job.parts) * _COPIED
        count = _COPIED if column + _COPIED <= inner else inner - column
        at = 2 * (number * length * inner + column)
        copy_columns(rows, job.source + at, length, inner, count)
        for k in range(count):
            row = rows + 2 * k * length
            if not is_over(job.context):
                transform_one(job.context, job.site, job.plan, row, row, job.flip, job.scale)
        copy_rows(job.target + at, rows, length, inner, count)
    free(memory)


@kernel
def transform(
    context: CallContext, site: i64, source: ptr[stored], target: ptr[stored],
    outer: i64, length: i64, inner: i64, flip: i64, divisor: i64,
) -> None:  # fmt: skip
    """Transform complex numbers along an axis."""
    if outer <= 0 or length <= 0 or inner <= 0 or context.code != 0:
        return
    grouped = is_grouped(outer, length, inner)
    plan = plan_of(context, site, FOR_GROUPS if grouped else FOR_ONE, length)
    if is_null(plan):
        return
    job = stack_record(Axis)
    job.context, job.site, job.plan = context, site, plan
    job.source, job.target = source, target
    job.outer, job.length, job.inner = outer, length, inner
    job.flip, job.scale = flip, 1.0 / to_float(divisor)
    argument = cast(job, ptr[f64])
    points = outer * length * inner
    if grouped:
        job.groups = 1 if inner == 1 else groups_at_once(plan.room, inner)
        job.parts = blocks_of(inner, job.groups * LANES)
        parts = blocks_of(outer, LANES) if inner == 1 else outer * job.parts
        run_transforms(code_of(transform_groups), argument, parts, points)
    elif inner == 1:
        run_transforms(code_of(transform_each), argument, outer, points)
    else:
        job.parts = blocks_of(inner, _COPIED)
        run_transforms(code_of(transform_copies), argument, outer * job.parts, points)
    drop(plan)
