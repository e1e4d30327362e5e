"""Transforms of real numbers to half of the spectrum, and back, along an axis.

Of an even length they are complex ones of half the length: pairs of real numbers are taken for
complex ones, and what comes out is taken apart by the symmetry of each part's spectrum. An odd
length is transformed as complex numbers.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.fourier.axis import is_grouped
from diastase_engine.fourier.groups import exchange_parts, run_group
from diastase_engine.fourier.lanes import (
    LANES,
    load_columns,
    load_real_columns,
    load_real_rows,
    load_rows,
    store_columns,
    store_real_columns,
    store_real_rows,
    store_rows,
)
from diastase_engine.fourier.long import blocks_of, smaller, transform_one
from diastase_engine.fourier.pairs import (
    join_group,
    join_row,
    mirror_group,
    split_group,
    split_row,
)
from diastase_engine.fourier.planning import FOR_GROUPS, FOR_ONE, FOR_REAL, drop, plan_of
from diastase_engine.fourier.plans import NUMBER_BYTES, Plan
from diastase_engine.fourier.pool import allocate, divide, free, run_transforms
from diastase_engine.fourier.workspace import in_areas
from diastase_engine.language import *
from diastase_engine.threads.loops import is_over


class Reals(Record):
    """Transforms of real numbers, or to them, on all threads."""

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
    inner: i64
    is_even: i64
    inverse: i64
    parts: i64
    """Groups of columns, for each of the outer numbers."""
    scale: f64


@kernel
def load_reals(
    job: Reals, work: ptr[vector], other: ptr[vector], source: ptr[stored], lanes: i64
) -> None:
    """Load a group of real numbers, which are pairs if the length is even."""
    length = job.length
    if job.inner > 1:
        load_real_columns(work, source, length, job.inner, lanes, job.is_even)
    elif job.is_even == 1:
        load_rows(work, source, job.half, length, lanes, 0)
    else:
        load_real_rows(work, other, source, length, lanes)


@kernel
def store_reals(
    job: Reals, work: ptr[vector], other: ptr[vector], target: ptr[stored], lanes: i64
) -> None:
    """Store such a group, whose parts have changed places."""
    length, scale = job.length, job.scale
    if job.inner > 1:
        store_real_columns(work, target, length, job.inner, lanes, job.is_even, scale)
    elif job.is_even == 1:
        store_rows(work, target, job.half, length, lanes, 1, scale)
    else:
        store_real_rows(work, other, target, length, lanes, scale)


@kernel
def load_spectra(job: Reals, work: ptr[vector], source: ptr[stored], lanes: i64) -> None:
    """Load a group of halves of spectra, and make of them what is to be transformed."""
    count = job.half + 1
    if job.inner > 1:
        load_columns(work, source, count, 2 * job.inner, lanes, 0)
    else:
        load_rows(work, source, count, 2 * count, lanes, 0)
    if job.is_even == 1:
        join_group(work, job.roots, job.half)
        exchange_parts(work, job.half)
    else:
        mirror_group(work, job.length)
        exchange_parts(work, job.length)


@kernel
def store_spectra(job: Reals, work: ptr[vector], target: ptr[stored], lanes: i64) -> None:
    """Make halves of spectra of a transformed group, and store them."""
    count, scale = job.half + 1, job.scale
    if job.is_even == 1:
        split_group(work, job.roots, job.half)
    if job.inner > 1:
        store_columns(work, target, count, 2 * job.inner, lanes, 0, scale)
    else:
        store_rows(work, target, count, 2 * count, lanes, 0, scale)


@inline
def transform_group_of_reals(job: Reals, areas: ptr[ptr[vector]], part: i64) -> None:
    """Transform a group of rows or columns."""
    inner = job.inner
    work, other = areas[0], areas[1]
    number: i64 = part * LANES
    column: i64 = 0
    lanes: i64 = smaller(LANES, job.outer - number)
    if inner > 1:
        number = divide(part, job.parts)
        column = (part - number * job.parts) * LANES
        lanes = smaller(LANES, inner - column)
    reals: i64 = number * job.length * inner + column
    spectra: i64 = 2 * (number * (job.half + 1) * inner + column)
    if job.inverse == 0:
        load_reals(job, work, other, job.source + reals, lanes)
    else:
        load_spectra(job, work, job.source + spectra, lanes)
    result: ptr[vector] = work
    spare: ptr[vector] = other
    if run_group(job.plan, work, other) == 1:
        result = other
        spare = work
    if job.inverse == 0:
        store_spectra(job, result, job.target + spectra, lanes)
    else:
        store_reals(job, result, spare, job.target + reals, lanes)


@kernel
def transform_groups_of_reals(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform groups of rows or columns."""
    job = cast(argument, Reals)
    in_areas(job, job.plan.room + 1, 2, first, last, transform_group_of_reals)


@kernel
def transform_each_of_reals(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Transform rows or columns, each by itself; columns are copied to where they are rows."""
    job = cast(argument, Reals)
    length, inner, count = job.length, job.inner, job.half + 1
    copies = length + 2 * count
    numbers = 2 * (length + 1) + (copies if inner > 1 else 0)
    memory = allocate(job.context, job.site, NUMBER_BYTES * numbers)
    if is_null(memory):
        return
    work = cast(memory, ptr[stored])
    real_row, spectrum = work + 2 * (length + 1), work + 2 * (length + 1) + length
    for part in range(first, last):
        if is_over(job.context):
            break
        number = divide(part, inner)
        column = part - number * inner
        reals = number * length * inner + column
        spectra = 2 * (number * count * inner + column)
        if inner == 1:
            if job.inverse == 0:
                forward(job, job.source + reals, job.target + spectra, work)
            else:
                backward(job, job.source + spectra, job.target + reals, work)
        elif job.inverse == 0:
            copy_numbers(real_row, 1, job.source + reals, inner, length, 1)
            forward(job, real_row, spectrum, work)
            copy_numbers(job.target + spectra, 2 * inner, spectrum, 2, count, 2)
        else:
            copy_numbers(spectrum, 2, job.source + spectra, 2 * inner, count, 2)
            backward(job, spectrum, real_row, work)
            copy_numbers(job.target + reals, inner, real_row, 1, length, 1)
    free(memory)


@kernel
def copy_numbers(
    target: ptr[stored], to: i64, source: ptr[stored], at: i64, count: i64, parts: i64
) -> None:
    """Copy so many numbers of so many parts, in steps of `at` and `to`."""
    for k in range(count):
        for place in range(parts):
            target[k * to + place] = source[k * at + place]


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
    copy_numbers(target, 1, work, 1, 2 * (job.half + 1), 1)


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
    copy_numbers(target, 1, work, 2, job.length, 1)


@kernel
def transform_reals(
    context: CallContext, site: i64, source: ptr[stored], target: ptr[stored],
    outer: i64, length: i64, inner: i64, inverse: i64, divisor: i64,
) -> None:  # fmt: skip
    """Transform real numbers to `length // 2 + 1` complex ones, or back.

    Of no numbers, the spectrum is one zero.
    """
    if outer <= 0 or inner <= 0 or context.code != 0:
        return
    if length <= 0:
        if inverse == 0:
            for k in range(2 * outer * inner):
                target[k] = 0.0
        return
    job = stack_record(Reals)
    is_odd = length & 1
    half = length >> 1
    complex_length = length if is_odd == 1 else half
    grouped = is_grouped(outer, complex_length, inner)
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
    job.outer, job.length, job.half, job.inner = outer, length, half, inner
    job.is_even, job.inverse, job.scale = 1 - is_odd, inverse, 1.0 / to_float(divisor)
    argument = cast(job, ptr[f64])
    points = outer * complex_length * inner
    if grouped:
        job.parts = blocks_of(inner, LANES)
        parts = blocks_of(outer, LANES) if inner == 1 else outer * job.parts
        run_transforms(code_of(transform_groups_of_reals), argument, parts, points)
    else:
        run_transforms(code_of(transform_each_of_reals), argument, outer * inner, points)
    drop(plan)
    drop(real)
