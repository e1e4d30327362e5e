"""All lines of an array, in place: what compiled programs call.

Long lines are sorted one after the other, on all threads (`large`); all others on one thread each,
many at a time. The caller gives the memory that is needed besides, as much as `scratch_size` says.
"""

from typing import Any

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.sorting.large import LARGE, TABLE, ceiling_quotient, sort_large
from diastase_engine.sorting.parts import sort_keys_part, sort_pairs_part
from diastase_engine.sorting.ranks import RANKED
from diastase_engine.sorting.smallest import gathered_at_most, is_few, smallest_keys, smallest_pairs
from diastase_engine.sorting.zeros import note_zeros, put_zeros
from diastase_engine.threads.loops import is_over, run_parallel, thread_count

_WORTH_THREADS = 1 << 13
"""Numbers from which waking a thread takes less time than it saves."""
_AT_A_TIME = 1 << 22
"""Numbers that are sorted between two polls."""


class Lines(Record):
    """An array that is being sorted."""

    numbers: ptr[i64]
    more: ptr[i64]
    """What goes with each number, or null."""
    length: i64
    wanted: i64
    minus_zero: i64
    """The number that stands for -0.0, where 0.0 is equal and the next number; else 0."""
    scratch: ptr[i64]
    room: i64
    """Numbers of the scratch that each worker has."""
    first: i64
    """The line with which the job begins."""


@kernel
def room_for(length: i64, wanted: i64, has_more: i64, has_zeros: i64) -> i64:
    """Numbers of scratch for one line; short ones need none."""
    if length <= RANKED:
        return 0
    if is_few(wanted, length):
        return 2 * (1 + has_more) * gathered_at_most(wanted, length)
    room = length + has_more * length
    if has_zeros != 0:
        room += (length >> 6) + 1
    return room


@kernel
def scratch_size(count: i64, length: i64, wanted: i64, has_more: i64, has_zeros: i64) -> i64:
    """Numbers of scratch for so many lines."""
    room = room_for(length, wanted, has_more, has_zeros)
    if is_long(length, wanted):
        return room + TABLE
    threads = thread_count()
    return room * select(count < threads, count, threads)


@inline
def is_long(length: Any, wanted: Any) -> Any:
    """Whether a line is sorted on all threads."""
    return length >= LARGE and not is_few(wanted, length)


@kernel
def sort_lines(
    context: CallContext, numbers: ptr[i64], more: ptr[i64], count: i64, length: i64, wanted: i64,
    minus_zero: i64, scratch: ptr[i64], size: i64,
) -> None:  # fmt: skip
    """Sort each of `count` lines, of which the first `wanted` numbers matter."""
    if context.code != 0 or count <= 0 or length <= 1 or wanted <= 0:
        return
    lines = stack_record(Lines)
    lines.numbers, lines.more, lines.length, lines.wanted = numbers, more, length, wanted
    lines.minus_zero, lines.scratch = minus_zero, scratch
    has_more = to_integer(not is_null(more))
    lines.room = room_for(length, wanted, has_more, to_integer(minus_zero != 0))
    if is_long(length, wanted):
        for line in range(count):
            sort_long_line(lines, line, has_more, context)
        return
    workers: i64 = 1
    if count * length >= _WORTH_THREADS:
        workers = thread_count()
    if workers > 1 and lines.room > 0:
        workers = to_integer(to_float(size) / to_float(lines.room))
    at_a_time = ceiling_quotient(_AT_A_TIME, length)
    lines.first = 0
    while lines.first < count and not is_over(context):
        left = count - lines.first
        batch = select(left < at_a_time, left, at_a_time)
        # No more chunks than there are parts of the scratch: so many workers there are at most.
        grain = ceiling_quotient(batch, workers)
        run_parallel(code_of(sort_some), cast(lines, ptr[f64]), batch, grain)
        lines.first += batch


@kernel
def sort_some(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Sort some lines on one thread."""
    lines = cast(argument, Lines)
    short_signs = stack_array(i64, 1)
    length, scratch = lines.length, lines.scratch
    signs = short_signs
    if length > RANKED:
        scratch = scratch + worker * lines.room
        signs = scratch + length
    for line in range(lines.first + first, lines.first + last):
        start = line * length
        x = lines.numbers + start
        if not is_null(lines.more):
            sort_line_of_pairs(x, lines.more + start, scratch, length, lines.wanted)
        elif is_few(lines.wanted, length):
            smallest_keys(x, scratch, scratch, length, lines.wanted)
        else:
            has_signs = False or lines.minus_zero != 0
            if has_signs:
                has_signs = note_zeros(x, length, lines.minus_zero, signs)
            sort_keys_part(x, scratch, scratch, scratch, length, False)
            if has_signs:
                put_zeros(x, length, lines.minus_zero, signs)


@kernel
def sort_line_of_pairs(
    x: ptr[i64], more: ptr[i64], scratch: ptr[i64], length: i64, wanted: i64
) -> None:
    """Sort a line of pairs."""
    if is_few(wanted, length):
        smallest_pairs(x, more, scratch, length, wanted)
    else:
        sort_pairs_part(x, more, scratch, scratch + length, length, False)


@kernel
def sort_long_line(lines: Lines, line: i64, has_more: i64, context: CallContext) -> None:
    """Sort a line on all threads."""
    length, minus_zero = lines.length, lines.minus_zero
    start = line * length
    x, more = lines.numbers + start, lines.scratch
    if has_more != 0:
        more = lines.more + start
    table = lines.scratch
    y = table + TABLE
    more_y = y + length
    if minus_zero == 0:
        sort_large(x, more, y, more_y, length, False, has_more, table, context)
    else:
        has_signs = note_zeros(x, length, minus_zero, more_y)
        sort_large(x, more, y, more_y, length, False, has_more, table, context)
        if has_signs and context.code == 0:
            put_zeros(x, length, minus_zero, more_y)
