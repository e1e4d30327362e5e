"""Short lines: the rank of each number, eight at a time, is its place.

Each number is compared with all others, which for a few dozen is less work than any branch that
the processor cannot foresee. Of equal numbers the one in front has the lower rank.
"""

from typing import Any

from diastase_engine.language import *
from diastase_runtime.abi import SHORT_LINE

RANKED = SHORT_LINE
"""Numbers up to which this is done; a multiple of eight. Measured."""
_LARGEST = (1 << 63) - 1


@inline
def sort_by_ranks(
    x: Any, more: Any, y: Any, more_y: Any, count: Any, into_y: Any, has_more: Any
) -> None:
    """Sort up to `RANKED` numbers of `x` into `y` or in place."""
    numbers = stack_array(i64, RANKED)
    places = stack_array(i64, RANKED)
    end = (count + 7) & -8
    for k in range(count):
        numbers[k] = x[k]
    for k in range(count, end):
        numbers[k] = _LARGEST
    for block in range(0, end, 8):
        rank_block(numbers, places, block, count)
    target = select(into_y, y, x)
    for k in range(count):
        target[places[k]] = numbers[k]
    if has_more:
        moved = stack_array(i64, RANKED)
        for k in range(count):
            moved[k] = more[k]
        target_more = select(into_y, more_y, more)
        for k in range(count):
            target_more[places[k]] = moved[k]


@inline
def rank_block(numbers: Any, places: Any, block: Any, count: Any) -> None:
    """Count what comes before each of eight numbers."""
    own = load_integers(numbers, block)
    counts = broadcast_integer(0)
    for k in range(block):
        counts = count_lanes(counts, lanes_not_less(own, broadcast_integer(numbers[k])))
    for lane in static(range(8)):
        other = broadcast_integer(numbers[block + lane])
        equal = lanes_not_less(own, other) & lanes_after(lane)
        counts = count_lanes(counts, lanes_less(other, own) | equal)
    for k in range(block + 8, count):
        counts = count_lanes(counts, lanes_less(broadcast_integer(numbers[k]), own))
    store_integers(places, block, counts)
