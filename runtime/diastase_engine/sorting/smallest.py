"""The first numbers of an order: a line is read once, and few of its numbers are sorted.

Numbers less than the largest of those that are wanted, as far as that is known, are gathered. When
there is no more room for them, they are sorted, and those in front stay. What is equal to the
largest comes too late: of equal numbers the one in front comes first.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.sorting.parts import sort_keys_part, sort_pairs_part
from diastase_engine.sorting.ranks import RANKED

_ROOM, _SHARE_BITS = 1024, 4
"""Numbers that are gathered besides twice those that are wanted: so many at most, and no more than
a part of a line."""


@inline
def gathered_at_most(wanted: Any, length: Any) -> Any:
    """How many numbers are gathered before they are sorted."""
    part = length >> _SHARE_BITS
    return 2 * wanted + select(part < _ROOM, part, _ROOM)


@inline
def is_few(wanted: Any, length: Any) -> Any:
    """Whether it is less work than to sort all."""
    return length > RANKED and 2 * gathered_at_most(wanted, length) < length


@kernel
def smallest_keys(x: ptr[i64], more: ptr[i64], y: ptr[i64], length: i64, wanted: i64) -> None:
    """Put the first numbers of the order in front, sorted; the others become anything."""
    find_smallest(x, more, y, length, wanted, False, sort_keys_part)


@kernel
def smallest_pairs(x: ptr[i64], more: ptr[i64], y: ptr[i64], length: i64, wanted: i64) -> None:
    """The same with numbers that go with them."""
    find_smallest(x, more, y, length, wanted, True, sort_pairs_part)


@inline
def find_smallest(
    x: Any, more: Any, y: Any, length: Any, wanted: Any, has_more: Any, sort: Any
) -> None:
    """Gather in `y`, with room for twice as many, and for what goes with them."""
    most = gathered_at_most(wanted, length)
    kept, kept_more, other, other_more = y, y + 2 * most, y + most, y + 3 * most
    for k in range(most):
        kept[k] = x[k]
        if has_more:
            kept_more[k] = more[k]
    sort(kept, kept_more, other, other_more, most, False)
    found: i64 = wanted
    largest: i64 = kept[wanted - 1]
    for k in range(most, length):
        number = x[k]
        if number < largest:
            kept[found] = number
            if has_more:
                kept_more[found] = more[k]
            found += 1
            if found == most:
                sort(kept, kept_more, other, other_more, most, False)
                found = wanted
                largest = kept[wanted - 1]
    sort(kept, kept_more, other, other_more, found, False)
    for k in range(wanted):
        x[k] = kept[k]
        if has_more:
            more[k] = kept_more[k]
