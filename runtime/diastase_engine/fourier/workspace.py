"""Memory that groups are worked on in: so many areas, on the stack of the caller if they are small.

What a thread has to transform is *parts*, one after the other in the same areas (`in_areas`).

Columns that lie side by side are loaded together, some groups of them (`groups_at_once`): so the
processor fetches longer pieces of memory.
"""

from typing import Any

from diastase_engine.call_context import CallContext
from diastase_engine.fourier.lanes import ELEMENT_BYTES, LANES
from diastase_engine.fourier.pool import allocate, divide, free
from diastase_engine.language import *
from diastase_engine.threads.loops import is_over

ELEMENTS_ON_STACK = 320
MOST_GROUPS = 4
MOST_AREAS = MOST_GROUPS + 1
_ELEMENTS_IN_CACHE = 5 * 1024
"""Of a second-level cache of a megabyte, a part."""


@kernel
def groups_at_once(room: i64, columns: i64) -> i64:
    """How many groups of columns are worth it, and fit into a cache."""
    groups: i64 = divide(_ELEMENTS_IN_CACHE, room) - 1
    if groups > MOST_GROUPS:
        groups = MOST_GROUPS
    if groups > divide(columns + LANES - 1, LANES):
        groups = divide(columns + LANES - 1, LANES)
    return groups if groups > 1 else 1


@kernel
def workspace(
    context: CallContext, site: i64, room: i64, areas: i64, stack: ptr[vector]
) -> ptr[vector]:
    """Room for so many areas: the stack's, or memory to be freed; null where there is none."""
    if room * areas <= ELEMENTS_ON_STACK:
        return stack
    return cast(allocate(context, site, ELEMENT_BYTES * room * areas), ptr[vector])


@kernel
def place_areas(areas: ptr[ptr[vector]], work: ptr[vector], room: i64, count: i64) -> None:
    """Say where areas begin, one after the other."""
    for area in range(count):
        areas[area] = work + 2 * room * area


@inline
def in_areas(job: Any, room: Any, count: Any, first: Any, last: Any, transform_part: Any) -> None:
    """Run `transform_part(job, areas, part)` for parts of a job, until its call is over."""
    stack = stack_array(vector, 2 * ELEMENTS_ON_STACK)
    areas = stack_array(ptr[vector], MOST_AREAS)
    work = workspace(job.context, job.site, room, count, stack)
    if not is_null(work):
        for part in range(first, last):
            if is_over(job.context):
                break
            place_areas(areas, work, room, count)
            transform_part(job, areas, part)
        if address(work) != address(stack):
            free(cast(work, ptr[f64]))
