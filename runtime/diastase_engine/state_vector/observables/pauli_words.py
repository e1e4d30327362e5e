"""Terms of a Pauli sum, prepared for half of the amplitudes (S as in `pauli_expectation`).

Half is enough: exchanging i and i ^ x conjugates a product and multiplies its sign by that of
x & z. So either Re S or Im S vanishes (which: the parity of x & z), and in the other both halves
are equal. Only blocks whose bit `gap`, the highest of x, is zero are visited; *places* count
them, with that bit taken out, and `Word.z` is z for places.
"""

from diastase_engine.language import Record, count_ones, f64, i64, inline, kernel
from diastase_engine.state_vector.observables.pauli import Term
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK

NO_GAP = 62


class Word(Record):
    """A term, for one x."""

    z: i64
    """On places: lanes, then blocks."""
    is_odd: i64
    """Whether it needs the imaginary parts of the products."""
    weight: f64


@inline
def block_at(place: i64, gap: i64) -> i64:
    """Return the block of a place."""
    return ((place >> gap) << (gap + 1)) | (place & ((1 << gap) - 1))


@kernel
def gap_of(flip: i64) -> i64:
    """Return the highest bit of the block part of x, or a bit that no block has."""
    if flip == 0:
        return NO_GAP
    gap: i64 = 0
    while flip >> gap > 1:
        gap += 1
    return gap


@kernel
def read_word(term: Term, gap: i64, word: Word) -> None:
    """Prepare a term."""
    blocks = term.z >> LANE_BITS
    low = blocks & ((1 << gap) - 1)
    word.z = (((blocks >> (gap + 1)) << gap | low) << LANE_BITS) | (term.z & LANE_MASK)
    word.is_odd = count_ones(term.x & term.z) & 1
    both_halves = 1.0 if gap == NO_GAP else 2.0
    word.weight = both_halves * (term.real if word.is_odd == 0 else -term.imaginary)
