"""Long lines on all threads, step for step as `parts` has it.

A line is cut into pieces. Their ranges, their counts and the moves of their numbers are jobs of the
thread pool, and so are the buckets; a bucket that has a large share of the numbers is divided on
all threads again. Each piece has places of its own in each bucket, in the order of the pieces: so
the order of equal keys is kept.

Between two jobs the call polls for signals. Once an error is recorded nothing more is done: then
the numbers are in any order, but no other ones.
"""

from typing import Any

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.sorting.parts import (
    BUCKETS,
    copy_part,
    deal,
    range_of,
    shift_for,
    sort_keys_part,
    sort_pairs_part,
)
from diastase_engine.threads.loops import is_over, run_parallel, thread_count

LARGE = 1 << 16
"""Numbers from which threads are worth it, and a step takes long enough to be polled for."""
MOST_PIECES = 64
_SHARE_BITS = 3
"""A bucket with an eighth of the numbers, or more, is divided on all threads."""
TABLE = MOST_PIECES * BUCKETS + 4 * MOST_PIECES
"""Numbers that the work needs besides."""


class Division(Record):
    """A line that is being sorted."""

    x: ptr[i64]
    more: ptr[i64]
    y: ptr[i64]
    more_y: ptr[i64]
    count: i64
    has_more: i64
    into_y: i64
    piece: i64
    """Numbers in a piece."""
    ranges: ptr[i64]
    """Of each piece: the least and the largest number, and whether any is less than the one
    before."""
    places: ptr[i64]
    """For each piece: the next place in each bucket."""
    ends: ptr[i64]
    low: i64
    shift: i64
    used: i64
    most: i64
    """A bucket with more is left to the calling thread."""


@kernel
def sort_large(
    x: ptr[i64], more: ptr[i64], y: ptr[i64], more_y: ptr[i64], count: i64, into_y: i1,
    has_more: i64, table: ptr[i64], context: CallContext,
) -> None:  # fmt: skip
    """Sort numbers of `x` into `y` or in place, with those that go with them if there are any."""
    if is_over(context):
        return
    own = stack_record(Division)
    own.x, own.more, own.y, own.more_y = x, more, y, more_y
    own.count, own.has_more, own.into_y = count, has_more, to_integer(into_y)
    own.ranges, own.places = table + MOST_PIECES * BUCKETS, table
    pieces = 4 * thread_count()
    pieces = select(pieces < MOST_PIECES, pieces, MOST_PIECES)
    own.piece = ceiling_quotient(count, pieces)
    pieces = ceiling_quotient(count, own.piece)
    argument = cast(own, ptr[f64])
    run_parallel(code_of(find_ranges), argument, pieces, 1)
    low, high = own.ranges[0], own.ranges[1]
    descents = own.ranges[2]
    for piece in range(1, pieces):
        low = select(own.ranges[4 * piece] < low, own.ranges[4 * piece], low)
        high = select(own.ranges[4 * piece + 1] > high, own.ranges[4 * piece + 1], high)
        descents = descents | own.ranges[4 * piece + 2]
    if descents == 0:
        if into_y:
            run_parallel(code_of(copy_pieces), argument, pieces, 1)
        return
    own.low = low
    own.shift = shift_for(count, low, high)
    own.used = shift_right_logical(high - low, own.shift) + 1
    own.most = count >> _SHARE_BITS
    own.most = select(own.most > LARGE, own.most, LARGE)
    run_parallel(code_of(count_pieces), argument, pieces, 1)
    places_of_pieces(own, pieces)
    run_parallel(code_of(deal_pieces), argument, pieces, 1)
    own.ends = own.places + (pieces - 1) * BUCKETS
    sort_buckets_of(own, table, context)


@kernel
def ceiling_quotient(number: i64, parts: i64) -> i64:
    """A quotient of positive numbers, rounded up: numbers are below 2**53."""
    quotient = to_integer(to_float(number) / to_float(parts))
    while quotient * parts < number:
        quotient += 1
    return quotient


@kernel
def find_ranges(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Find the ranges of pieces, each with the number before it."""
    own = cast(argument, Division)
    for piece in range(first, last):
        start = piece * own.piece
        stop = end_of(own, piece)
        start = select(start > 0, start - 1, start)
        low, high, descents = range_of(own.x, start, stop)
        own.ranges[4 * piece] = low
        own.ranges[4 * piece + 1] = high
        own.ranges[4 * piece + 2] = descents


@inline
def end_of(own: Any, piece: Any) -> Any:
    """Where a piece ends."""
    stop = (piece + 1) * own.piece
    return select(stop < own.count, stop, own.count)


@kernel
def copy_pieces(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Copy pieces that are in order."""
    own = cast(argument, Division)
    start = first * own.piece
    size = end_of(own, last - 1) - start
    copy_some(own, start, size)


@kernel
def copy_some(own: Division, start: i64, size: i64) -> None:
    """Copy numbers of `x` to `y`."""
    copy_part(own.x + start, own.more, own.y + start, own.more_y, size, False)
    if own.has_more != 0:
        copy_part(own.more + start, own.more, own.more_y + start, own.more_y, size, False)


@kernel
def count_pieces(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Count the numbers of each bucket in pieces."""
    own = cast(argument, Division)
    x, low, shift = own.x, own.low, own.shift
    for piece in range(first, last):
        counts = own.places + piece * BUCKETS
        for bucket in range(own.used):
            counts[bucket] = 0
        for k in range(piece * own.piece, end_of(own, piece)):
            counts[shift_right_logical(x[k] - low, shift)] += 1


@kernel
def places_of_pieces(own: Division, pieces: i64) -> None:
    """Make first places of counts: bucket for bucket, and in each piece for piece."""
    total: i64 = 0
    for bucket in range(own.used):
        for piece in range(pieces):
            place = piece * BUCKETS + bucket
            size = own.places[place]
            own.places[place] = total
            total += size


@kernel
def deal_pieces(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Move the numbers of pieces to their buckets."""
    own = cast(argument, Division)
    for piece in range(first, last):
        start = piece * own.piece
        stop = end_of(own, piece)
        places = own.places + piece * BUCKETS
        low, shift = own.low, own.shift
        if own.has_more != 0:
            deal(own.x, own.more, own.y, own.more_y, start, stop, low, shift, places, True)
        else:
            deal(own.x, own.more, own.y, own.more_y, start, stop, low, shift, places, False)


@kernel
def sort_buckets_of(own: Division, table: ptr[i64], context: CallContext) -> None:
    """Sort the buckets: the larger ones, whose places are noted before, last."""
    larger = stack_array(i64, 2 << _SHARE_BITS)
    found: i64 = 0
    start: i64 = 0
    for bucket in range(own.used):
        end = own.ends[bucket]
        if own.shift != 0 and end - start > own.most:
            larger[found] = start
            larger[found + 1] = end
            found += 2
        start = end
    run_parallel(code_of(sort_buckets), cast(own, ptr[f64]), own.used, 1)
    for place in range(0, found, 2):
        start = larger[place]
        size = larger[place + 1] - start
        x, y, into_y = own.y + start, own.x + start, own.into_y == 0
        more, more_y = own.more, own.more_y
        if own.has_more != 0:
            more, more_y = own.more_y + start, own.more + start
        sort_large(x, more, y, more_y, size, into_y, own.has_more, table, context)


@kernel
def sort_buckets(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Sort buckets, but not the larger ones."""
    own = cast(argument, Division)
    for bucket in range(first, last):
        start: i64 = 0
        if bucket > 0:
            start = own.ends[bucket - 1]
        size = own.ends[bucket] - start
        if own.shift == 0:
            if own.into_y == 0:
                copy_back(own, start, size)
        elif size > 0 and size <= own.most:
            x, y, into_y = own.y + start, own.x + start, own.into_y == 0
            if own.has_more != 0:
                more, more_y = own.more_y + start, own.more + start
                sort_pairs_part(x, more, y, more_y, size, into_y)
            else:
                sort_keys_part(x, own.more, y, own.more, size, into_y)


@kernel
def copy_back(own: Division, start: i64, size: i64) -> None:
    """Copy numbers of `y` to `x`."""
    copy_part(own.y + start, own.more, own.x + start, own.more_y, size, False)
    if own.has_more != 0:
        copy_part(own.more_y + start, own.more, own.more + start, own.more_y, size, False)
