"""Lines of any length: numbers are dealt into buckets by their highest bits that differ.

Each bucket is sorted likewise, until it is short (`ranks`), or in order already. Where the numbers
of a bucket are is known from counts, so they stay in order: pairs are sorted stably. The range of
the numbers is found first, so that the buckets fit what there is: numbers close together take no
more steps than numbers far apart, and each step divides their range by the number of buckets.
So there are at most 16 steps, whatever the numbers.

Numbers go from one array into the other with each step; what is sorted is to end in a certain one.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.sorting.ranks import RANKED, sort_by_ranks

MOST_BITS = 10
BUCKETS = 1 << MOST_BITS
"""As many places are written to at a time: more than the first-level cache has lines for, and the
second-level has pages for, would take longer."""
_PER_BUCKET_BITS = 3
"""A bucket is to have about eight numbers."""


@kernel
def sort_keys_part(
    x: ptr[i64], more: ptr[i64], y: ptr[i64], more_y: ptr[i64], count: i64, into_y: i1
) -> None:
    """Sort numbers of `x` into `y` or in place; what is in the other one then is anything."""
    sort_part(x, more, y, more_y, count, into_y, False, sort_keys_part)


@kernel
def sort_pairs_part(
    x: ptr[i64], more: ptr[i64], y: ptr[i64], more_y: ptr[i64], count: i64, into_y: i1
) -> None:
    """The same with other numbers that go with them, `more` into `more_y`."""
    sort_part(x, more, y, more_y, count, into_y, True, sort_pairs_part)


@inline
def sort_part(
    x: Any, more: Any, y: Any, more_y: Any, count: Any, into_y: Any, has_more: Any, again: Any
) -> None:
    """Sort a part; `again` sorts its buckets."""
    if count <= RANKED:
        sort_by_ranks(x, more, y, more_y, count, into_y, has_more)
    else:
        low, high, descents = range_of(x, 0, count)
        if descents == 0:
            if into_y:
                copy_part(x, more, y, more_y, count, has_more)
        else:
            divide(x, more, y, more_y, count, into_y, low, high, has_more, again)


@inline
def range_of(x: Any, first: Any, last: Any) -> Any:
    """The least and the largest number, and whether any is less than the one before (if not, 0)."""
    low: i64 = x[first]
    high: i64 = x[first]
    descents: i64 = 0
    for k in range(first + 1, last):
        number = x[k]
        low = select(number < low, number, low)
        high = select(number > high, number, high)
        descents = descents | to_integer(number < x[k - 1])
    return low, high, descents


@inline
def copy_part(x: Any, more: Any, y: Any, more_y: Any, count: Any, has_more: Any) -> None:
    """Copy numbers, and those that go with them."""
    for k in range(count):
        y[k] = x[k]
    if has_more:
        for k in range(count):
            more_y[k] = more[k]


@inline
def shift_for(count: Any, low: Any, high: Any) -> Any:
    """By how many bits the distance from the least number is shifted to give its bucket."""
    bits = 63 - _PER_BUCKET_BITS - count_leading_zeros(count)
    bits = select(bits < MOST_BITS, bits, MOST_BITS)
    shift = 64 - count_leading_zeros(high - low) - bits
    return select(shift > 0, shift, 0)


@inline
def divide(
    x: Any, more: Any, y: Any, more_y: Any, count: Any, into_y: Any, low: Any, high: Any,
    has_more: Any, again: Any,
) -> None:  # fmt: skip
    """Deal the numbers of `x` into buckets in `y`, and have these sorted."""
    ends = stack_array(i64, BUCKETS)
    shift = shift_for(count, low, high)
    used = shift_right_logical(high - low, shift) + 1
    for bucket in range(used):
        ends[bucket] = 0
    for k in range(count):
        ends[shift_right_logical(x[k] - low, shift)] += 1
    total: i64 = 0
    for bucket in range(used):
        size = ends[bucket]
        ends[bucket] = total
        total += size
    deal(x, more, y, more_y, 0, count, low, shift, ends, has_more)
    if shift == 0:  # the numbers of a bucket are equal
        if not into_y:
            copy_part(y, more_y, x, more, count, has_more)
    else:
        start: i64 = 0
        for bucket in range(used):
            end = ends[bucket]
            if end - start > 1:
                again(y + start, more_y + start, x + start, more + start, end - start, not into_y)
            elif end > start and not into_y:
                x[start] = y[start]
                if has_more:
                    more[start] = more_y[start]
            start = end


@inline
def deal(
    x: Any, more: Any, y: Any, more_y: Any, first: Any, last: Any, low: Any, shift: Any,
    places: Any, has_more: Any,
) -> None:  # fmt: skip
    """Move numbers of `x` to the next places of their buckets in `y`."""
    for k in range(first, last):
        number = x[k]
        bucket = shift_right_logical(number - low, shift)
        place = places[bucket]
        places[bucket] = place + 1
        y[place] = number
        if has_more:
            more_y[place] = more[k]
