"""A group of transforms in memory: element `k` is a vector of real and one of imaginary parts.

Arrays of the program hold complex numbers as pairs. Groups are columns of an array, whose lanes
lie side by side, or rows, which are transposed on the way. `flip` is 1 where real and imaginary
parts change places, on the way in and out, which makes an inverse transform of a forward one.
"""

from diastase_engine.language import *

SINGLE = setting("single", 0)
LANE_BITS = derived(lambda single: 3 + single, SINGLE)
LANES = derived(lambda bits: 1 << bits, LANE_BITS)
UNITS = derived(lambda lanes: lanes // 2, LANES)
"""Complex numbers in a vector as they lie in an array."""
EVEN = derived(lambda lanes: list(range(0, 2 * lanes, 2)), LANES)
ODD = derived(lambda lanes: list(range(1, 2 * lanes, 2)), LANES)
FIRST_PAIRS = derived(lambda lanes: [k // 2 + k % 2 * lanes for k in range(lanes)], LANES)
LAST_PAIRS = derived(
    lambda lanes: [lanes // 2 + k // 2 + k % 2 * lanes for k in range(lanes)], LANES
)
DISTANCES = derived(lambda units: [1 << k for k in range(units.bit_length() - 1)], UNITS)
ELEMENT_BYTES = 128
MOST_LANES = 16


def _units_taken(lanes: int, distance: int, high: bool) -> list[int]:
    """Lanes of two vectors, for one step of a transposition of complex numbers."""
    taken: list[int] = []
    for unit in range(lanes // 2):
        is_second = bool(unit & distance)
        place = unit - distance * (is_second and not high) + distance * (high and not is_second)
        taken += [2 * place + part + lanes * is_second for part in (0, 1)]
    return taken


@inline
def transpose_units(rows: list[vector]) -> None:
    """Row `k` of the result has complex number `k` of each row."""
    for distance in static(DISTANCES):
        for k in static(range(UNITS)):
            if (k & distance) == 0:
                low, high = rows[k], rows[k + distance]
                rows[k] = shuffle_pair(low, high, _units_taken(LANES, distance, False))
                rows[k + distance] = shuffle_pair(low, high, _units_taken(LANES, distance, True))


@inline
def write_element(work: ptr[vector], k: i64, flip: i64, low: vector, high: vector) -> None:
    """Set an element to the pairs in two vectors."""
    work[2 * k + flip] = shuffle_pair(low, high, EVEN)
    work[2 * k + 1 - flip] = shuffle_pair(low, high, ODD)


@kernel
def load_columns(
    work: ptr[vector], source: ptr[stored], count: i64, step: i64, lanes: i64, flip: i64
) -> None:
    """Load so many elements of columns, `step` numbers apart."""
    if lanes == LANES:
        for k in range(count):
            at = k * step
            low, high = load_unaligned(source, at), load_unaligned(source, at + LANES)
            write_element(work, k, flip, low, high)
        return
    if lanes == 1:
        for k in range(count):
            work[2 * k + flip] = first_lane(source[k * step])
            work[2 * k + 1 - flip] = first_lane(source[k * step + 1])
        return
    pairs = stack_array(stored, 2 * MOST_LANES)
    for lane in range(2 * LANES):
        pairs[lane] = 0.0
    for k in range(count):
        for lane in range(2 * lanes):
            pairs[lane] = source[k * step + lane]
        write_element(work, k, flip, load_unaligned(pairs, 0), load_unaligned(pairs, LANES))


@kernel
def store_columns(
    work: ptr[vector], target: ptr[stored], count: i64, step: i64, lanes: i64, flip: i64, scale: f64
) -> None:
    """Store so many elements of columns, multiplied by a number."""
    factor = broadcast(scale)
    if lanes == 1:
        for k in range(count):
            target[k * step] = lane_of(work[2 * k + flip] * factor, 0)
            target[k * step + 1] = lane_of(work[2 * k + 1 - flip] * factor, 0)
        return
    pairs = stack_array(stored, 2 * MOST_LANES)
    for k in range(count):
        real, imaginary = work[2 * k + flip] * factor, work[2 * k + 1 - flip] * factor
        low = shuffle_pair(real, imaginary, FIRST_PAIRS)
        high = shuffle_pair(real, imaginary, LAST_PAIRS)
        if lanes == LANES:
            store_unaligned(target, k * step, low)
            store_unaligned(target, k * step + LANES, high)
        else:
            store_unaligned(pairs, 0, low)
            store_unaligned(pairs, LANES, high)
            for lane in range(2 * lanes):
                target[k * step + lane] = pairs[lane]


@kernel
def load_wide(
    areas: ptr[ptr[vector]], source: ptr[stored], count: i64, step: i64, columns: i64, flip: i64
) -> None:
    """Load several groups of columns, what lies side by side together; `areas`: where to."""
    full = columns >> LANE_BITS
    for k in range(count):
        for group in range(full):
            at = k * step + 2 * LANES * group
            low, high = load_unaligned(source, at), load_unaligned(source, at + LANES)
            write_element(areas[group], k, flip, low, high)
    rest = columns - full * LANES
    if rest > 0:
        load_columns(areas[full], source + 2 * LANES * full, count, step, rest, flip)


@kernel
def store_wide(
    areas: ptr[ptr[vector]], target: ptr[stored], count: i64, step: i64, columns: i64, flip: i64,
    scale: f64,
) -> None:  # fmt: skip
    """Store several groups of columns, multiplied by a number."""
    factor = broadcast(scale)
    full = columns >> LANE_BITS
    for k in range(count):
        for group in range(full):
            work = areas[group]
            real, imaginary = work[2 * k + flip] * factor, work[2 * k + 1 - flip] * factor
            at = k * step + 2 * LANES * group
            store_unaligned(target, at, shuffle_pair(real, imaginary, FIRST_PAIRS))
            store_unaligned(target, at + LANES, shuffle_pair(real, imaginary, LAST_PAIRS))
    rest = columns - full * LANES
    if rest > 0:
        store_columns(areas[full], target + 2 * LANES * full, count, step, rest, flip, scale)


@kernel
def load_rows(
    work: ptr[vector], source: ptr[stored], count: i64, row: i64, lanes: i64, flip: i64
) -> None:
    """Load so many elements of rows, `row` numbers apart; lanes beyond have what the last has."""
    if lanes == 1:
        load_columns(work, source, count, 2, 1, flip)
        return
    begins = stack_array(i64, MOST_LANES)
    for lane in range(LANES):
        begins[lane] = (lane if lane < lanes else lanes - 1) * row
    if count < UNITS:
        numbers = cast(work, ptr[stored])
        for k in range(count):
            for lane in range(LANES):
                numbers[(2 * k + flip) * LANES + lane] = source[begins[lane] + 2 * k]
                numbers[(2 * k + 1 - flip) * LANES + lane] = source[begins[lane] + 2 * k + 1]
        return
    first: i64 = 0
    while first < count:
        k = first if first + UNITS <= count else count - UNITS
        low, high = registers(vector, UNITS), registers(vector, UNITS)
        for unit in static(range(UNITS)):
            low[unit] = load_unaligned(source, begins[unit] + 2 * k)
            high[unit] = load_unaligned(source, begins[UNITS + unit] + 2 * k)
        transpose_units(low)
        transpose_units(high)
        for unit in static(range(UNITS)):
            write_element(work, k + unit, flip, low[unit], high[unit])
        first += UNITS


@kernel
def store_rows(
    work: ptr[vector], target: ptr[stored], count: i64, row: i64, lanes: i64, flip: i64, scale: f64
) -> None:
    """Store so many elements of rows, multiplied by a number."""
    if lanes == 1:
        store_columns(work, target, count, 2, 1, flip, scale)
        return
    if count < UNITS:
        numbers = cast(work, ptr[stored])
        for lane in range(lanes):
            for k in range(count):
                target[lane * row + 2 * k] = numbers[(2 * k + flip) * LANES + lane] * scale
                at = (2 * k + 1 - flip) * LANES + lane
                target[lane * row + 2 * k + 1] = numbers[at] * scale
        return
    factor = broadcast(scale)
    first: i64 = 0
    while first < count:
        k = first if first + UNITS <= count else count - UNITS
        low, high = registers(vector, UNITS), registers(vector, UNITS)
        for unit in static(range(UNITS)):
            real = work[2 * (k + unit) + flip] * factor
            imaginary = work[2 * (k + unit) + 1 - flip] * factor
            low[unit] = shuffle_pair(real, imaginary, FIRST_PAIRS)
            high[unit] = shuffle_pair(real, imaginary, LAST_PAIRS)
        transpose_units(low)
        transpose_units(high)
        for unit in static(range(UNITS)):
            if unit < lanes:
                store_unaligned(target, unit * row + 2 * k, low[unit])
            if UNITS + unit < lanes:
                store_unaligned(target, (UNITS + unit) * row + 2 * k, high[unit])
        first += UNITS


@kernel
def load_real_rows(
    work: ptr[vector], pairs: ptr[vector], source: ptr[stored], count: i64, lanes: i64
) -> None:
    """Load rows of an odd number of real numbers, by way of pairs of them."""
    half = count >> 1
    load_rows(pairs, source, half, count, lanes, 0)
    for k in range(2 * half):
        work[2 * k], work[2 * k + 1] = pairs[k], broadcast(0.0)
    work[2 * count - 2], work[2 * count - 1] = broadcast(0.0), broadcast(0.0)
    numbers = cast(work, ptr[stored]) + 2 * (count - 1) * LANES
    for lane in range(lanes):
        numbers[lane] = source[lane * count + count - 1]


@kernel
def store_real_rows(
    work: ptr[vector], pairs: ptr[vector], target: ptr[stored], count: i64, lanes: i64, scale: f64
) -> None:
    """Store such rows, of elements whose parts have changed places."""
    half = count >> 1
    for k in range(2 * half):
        pairs[k] = work[2 * k + 1]
    store_rows(pairs, target, half, count, lanes, 0, scale)
    numbers = cast(work, ptr[stored]) + (2 * count - 1) * LANES
    for lane in range(lanes):
        target[lane * count + count - 1] = numbers[lane] * scale


@kernel
def load_real_columns(
    work: ptr[vector], source: ptr[stored], count: i64, step: i64, lanes: i64, is_paired: i64
) -> None:
    """Load so many real numbers of columns, alone or two after another as one complex number."""
    numbers = stack_array(stored, MOST_LANES)
    for lane in range(LANES):
        numbers[lane] = 0.0
    for k in range(count):
        place = k if is_paired == 1 else 2 * k
        if lanes == LANES:
            work[place] = load_unaligned(source, k * step)
        else:
            for lane in range(lanes):
                numbers[lane] = source[k * step + lane]
            work[place] = load_unaligned(numbers, 0)
        if is_paired == 0:
            work[place + 1] = broadcast(0.0)


@kernel
def store_real_columns(
    work: ptr[vector], target: ptr[stored], count: i64, step: i64, lanes: i64, is_paired: i64,
    scale: f64,
) -> None:  # fmt: skip
    """Store so many real numbers, of elements whose parts have changed places."""
    factor = broadcast(scale)
    numbers = stack_array(stored, MOST_LANES)
    for k in range(count):
        place = (k ^ 1) if is_paired == 1 else 2 * k + 1
        if lanes == LANES:
            store_unaligned(target, k * step, work[place] * factor)
        else:
            store_unaligned(numbers, 0, work[place] * factor)
            for lane in range(lanes):
                target[k * step + lane] = numbers[lane]
