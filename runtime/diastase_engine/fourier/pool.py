"""Memory of transforms, and their loops on the thread pool."""

from diastase_engine.call_context import OUT_OF_MEMORY, CallContext, fail
from diastase_engine.language import *
from diastase_engine.threads.loops import run_parallel, thread_count
from diastase_engine.threads.workers import BODY

aligned_alloc = external("aligned_alloc", [i64, i64], ptr[f64])
free = external("free", [ptr[f64]])

ALIGNMENT = 64
PARALLEL_POINTS = 1 << 14
"""A transform of fewer takes less time than it does to wake a thread."""
_CHUNKS = 8
"""Of a loop, for each thread: one that is late has little left to do."""


@inline
def divide(number: i64, divisor: i64) -> i64:
    """The quotient, rounded to zero, of numbers below 2**53."""
    return to_integer(to_float(number) / to_float(divisor))


@kernel
def run_transforms(body: code, argument: ptr[f64], count: i64, points: i64) -> None:
    """Run all of 0..count-1, on threads if so many points of transforms are worth it."""
    if count == 1 or points < PARALLEL_POINTS:
        call_through(body, BODY, argument, 0, count, 0)
        return
    grain: i64 = divide(count, thread_count() * _CHUNKS)
    if grain < 1:
        grain = 1
    run_parallel(body, argument, count, grain)


@kernel
def allocate(context: CallContext, site: i64, size: i64) -> ptr[f64]:
    """Aligned memory, or an error and null."""
    rounded = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1)
    if context.memory == 0 or rounded < context.memory:
        memory = aligned_alloc(ALIGNMENT, rounded)
        if not is_null(memory):
            return memory
    fail(context, OUT_OF_MEMORY, site, rounded, 0)
    return null(ptr[f64])
