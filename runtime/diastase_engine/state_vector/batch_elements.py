"""Elements of a batch, on all threads: what `parallel_map` becomes when a program runs.

Each element has a call context of its own: random numbers from a stream that the call's seed and
position and the element's number determine, an error, the states that are alive. So nothing that
is computed depends on the number of threads, nor on the order of the elements. The error of the
first element that has one, in the order of their numbers, becomes the call's; elements after one
that has failed need not be run, and none after an interrupt.

Small states are many elements at once, each on one thread (a loop inside of another has no other
threads). Elements with large states, or fewer elements than threads, run one after the other, and
the engine has the threads. Elements that call Python run on the thread of the call, in its context.
"""

from typing import Annotated, Any

from diastase_engine.call_context import INTERRUPTED, CallContext, seed_of_element
from diastase_engine.language import *
from diastase_engine.state_vector.state.records import OutcomeScript, State
from diastase_engine.threads.parallel_for import run_job
from diastase_engine.threads.workers import POOL
from diastase_runtime.abi import ON_CALLING_THREAD

ALONE_WIRES = 20
"""From here on the engine has all threads for each element: several states at once would share the
cache that one of them needs."""
SHARED_WIRES = 14
"""From here on the engine can make use of threads at all."""
_ROUNDS = 32
"""Chunks of elements that each thread gets about."""
_ENTRY = signature([ptr[f64], ptr[f64], i64])


class Batch(Record):
    """A loop over elements that is under way."""

    context: CallContext
    entry: code
    memory: ptr[f64]
    count: i64
    position: i64
    """Of the call's random numbers."""
    failed: Annotated[ptr[i64], 1]
    """The first element that has failed, or the number of elements."""
    lock: Annotated[ptr[i64], 1]


@kernel
def for_each_element(
    context: CallContext, entry: code, memory: ptr[f64], count: i64, wires: i64
) -> None:
    """Call `entry` for each element of a batch."""
    if context.code != 0 or count <= 0:
        return
    if wires == ON_CALLING_THREAD:
        for number in range(count):
            if context.code == 0:
                call_through(entry, _ENTRY, cast(context, ptr[f64]), memory, number)
        return
    batch = stack_record(Batch)
    batch.context = context
    batch.entry = entry
    batch.memory = memory
    batch.count = count
    batch.position = context.counter
    context.counter += 1
    batch.failed[0] = count
    batch.lock[0] = 0
    threads = atomic_load(POOL.threads)
    if wires >= ALONE_WIRES or (wires >= SHARED_WIRES and count < threads):
        run_elements(cast(batch, ptr[f64]), 0, count, 0)
        return
    grain: i64 = 1
    while grain * _ROUNDS * threads < count:
        grain <<= 1
    run_job(code_of(run_elements), cast(batch, ptr[f64]), count, grain, context)


@kernel
def run_elements(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Run some elements; `argument` is a `Batch`."""
    batch = cast(argument, Batch)
    own = stack_record(CallContext)
    begin_context(batch, own)
    for number in range(first, last):
        if number < atomic_load(batch.failed):
            give_seed(batch, own, number)
            call_through(batch.entry, _ENTRY, cast(own, ptr[f64]), batch.memory, number)
            if own.code != 0:
                note_failure(batch, own, number)
                own.code = 0
                own.detail[3] = 0
    acquire(batch)
    batch.context.gates += own.gates
    batch.context.operations += own.operations
    batch.context.stages += own.stages
    batch.context.launches += own.launches
    batch.context.to_device += own.to_device
    batch.context.to_host += own.to_host
    atomic_store(batch.lock, 0)


@kernel
def begin_context(batch: Batch, own: CallContext) -> None:
    """Make the context of elements that one thread runs."""
    own.code, own.site = 0, -1
    for number in range(4):
        own.detail[number] = 0
    own.states, own.scripts = null(ptr[f64]), null(ptr[f64])
    own.gates, own.operations, own.stages = 0, 0, 0
    own.launches, own.to_device, own.to_host = 0, 0, 0
    own.memory = batch.context.memory
    own.polls = 0
    own.outer = cast(batch.context, ptr[f64])
    own.position = batch.position


@kernel
def give_seed(batch: Batch, own: CallContext, number: i64) -> None:
    """Begin the stream of random numbers of an element."""
    own.seed = seed_of_element(batch.context.seed, batch.position, number)
    own.counter = 0


@kernel
def acquire(batch: Batch) -> None:
    """Get what elements share for this thread; it is held for a moment only."""
    while atomic_compare_exchange(batch.lock, 0, 1) != 0:
        pause()


@kernel
def note_failure(batch: Batch, own: CallContext, number: i64) -> None:
    """Make an element's error the call's, unless an element before it has one, or a signal came."""
    acquire(batch)
    context = batch.context
    seen = context.code
    is_first = number < batch.failed[0] or own.code == INTERRUPTED
    # The thread of the call, which waits, may record an interrupt at any moment.
    if is_first and seen != INTERRUPTED and set_code(context, seen, own.code):
        context.site = own.site
        for place in range(4):
            context.detail[place] = own.detail[place]
        atomic_store(batch.failed, number)
    if own.code == INTERRUPTED:  # also where that thread has recorded it
        atomic_store(batch.failed, 0)
    # What an abandoned element has left is the call's, which releases it at last.
    context.states = joined(State, own.states, context.states)
    context.scripts = joined(OutcomeScript, own.scripts, context.scripts)
    own.states, own.scripts = null(ptr[f64]), null(ptr[f64])
    atomic_store(batch.lock, 0)


@kernel
def set_code(context: CallContext, seen: i64, new: i64) -> i1:
    """Record an error in the place of the one seen, unless it is another one by now."""
    return atomic_compare_exchange(cast(context, ptr[i64]), seen, new) == seen


@inline
def joined(kind: Any, first: ptr[f64], others: ptr[f64]) -> ptr[f64]:
    """A list of records of this kind, then the list of others."""
    head: ptr[f64] = others
    if not is_null(first):
        head = first
        last = cast(first, kind)
        while not is_null(last.next):
            last = cast(last.next, kind)
        last.next = others
        if not is_null(others):
            cast(others, kind).previous = cast(last, ptr[f64])
    return head
