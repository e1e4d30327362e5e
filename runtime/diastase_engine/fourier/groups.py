"""A group of transforms, from memory to memory: passes to and fro between two pieces of work."""

from diastase_engine.fourier.passes import run_pass
from diastase_engine.fourier.plans import CONVOLUTION, Plan
from diastase_engine.language import *


@kernel
def run_passes(plan: Plan, work: ptr[vector], other: ptr[vector]) -> i64:
    """Transform `work`; 1 if the result is in the other one."""
    source: ptr[vector] = work
    target: ptr[vector] = other
    m: i64 = plan.length
    step: i64 = 1
    for number in range(plan.passes):
        radix = plan.radices[number]
        m = to_integer(to_float(m) / to_float(radix))
        roots = cast(plan.roots, ptr[stored]) + 2 * plan.offsets[number]
        run_pass(radix, source, target, m, step, roots)
        step = step * radix
        before: ptr[vector] = source
        source = target
        target = before
    return plan.passes & 1


@kernel
def multiply(
    work: ptr[vector], target: ptr[vector], factors: ptr[stored], count: i64, flip: i64
) -> None:
    """Multiply elements by numbers that all lanes share; `flip` says where the parts go."""
    for k in range(count):
        c, d = broadcast(factors[2 * k]), broadcast(factors[2 * k + 1])
        x, y = work[2 * k], work[2 * k + 1]
        target[2 * k + flip], target[2 * k + 1 - flip] = x * c - y * d, x * d + y * c


@kernel
def exchange_parts(work: ptr[vector], count: i64) -> None:
    """Exchange real and imaginary parts."""
    for k in range(count):
        x, y = work[2 * k], work[2 * k + 1]
        work[2 * k], work[2 * k + 1] = y, x


@kernel
def run_group(plan: Plan, work: ptr[vector], other: ptr[vector]) -> i64:
    """Transform `work`, with room for `plan.room` elements; 1 if the result is in the other one."""
    if plan.method != CONVOLUTION:
        return run_passes(plan, work, other)
    smooth = cast(plan.first, Plan)
    chirp = cast(plan.roots, ptr[stored])
    multiply(work, work, chirp, plan.length, 0)
    for k in range(2 * plan.length, 2 * smooth.length):
        work[k] = broadcast(0.0)
    spectrum = chirp + 2 * plan.length
    source: ptr[vector] = work
    target: ptr[vector] = other
    is_in_other = run_passes(smooth, work, other)
    if is_in_other == 1:
        source = other
        target = work
    multiply(source, source, spectrum, smooth.length, 1)
    has_moved = run_passes(smooth, source, target)
    if has_moved == 1:
        source = target
    exchange_parts(source, plan.length)
    multiply(source, source, chirp, plan.length, 0)
    return is_in_other ^ has_moved


@kernel
def run_groups(plan: Plan, areas: ptr[ptr[vector]], groups: i64) -> None:
    """Transform several groups; the area after theirs is free, and another one afterwards."""
    for group in range(groups):
        free = areas[groups]
        if run_group(plan, areas[group], free) == 1:
            areas[groups] = areas[group]
            areas[group] = free
