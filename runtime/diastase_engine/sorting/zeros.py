"""Zeros of both signs, which are equal: in a sorted line they are in the order that they had.

In the order of the integers that stand for them -0.0 is just below 0.0, so that each zero keeps its
sign. The signs are noted in bits before, where there is any -0.0, and written in their order after.
"""

from diastase_engine.language import *


@kernel
def note_zeros(x: ptr[i64], length: i64, minus_zero: i64, signs: ptr[i64]) -> i1:
    """Note the signs of zeros if there is a negative one, and say so."""
    found: i64 = 0
    for k in range(length):
        found = found | to_integer(x[k] == minus_zero)
    if found == 0:
        return False
    place: i64 = 0
    for k in range(length):
        distance = x[k] - minus_zero
        if distance == 0 or distance == 1:
            if place & 63 == 0:
                signs[place >> 6] = 0
            signs[place >> 6] |= distance << (place & 63)
            place += 1
    return True


@kernel
def put_zeros(x: ptr[i64], length: i64, minus_zero: i64, signs: ptr[i64]) -> None:
    """Write the zeros of a sorted line in the order in which they were noted."""
    start: i64 = 0
    end: i64 = length
    while start < end:
        middle = (start + end) >> 1
        if x[middle] < minus_zero:
            start = middle + 1
        else:
            end = middle
    place: i64 = 0
    while start + place < length and x[start + place] <= minus_zero + 1:
        sign = shift_right_logical(signs[place >> 6], place & 63) & 1
        x[start + place] = minus_zero + sign
        place += 1
