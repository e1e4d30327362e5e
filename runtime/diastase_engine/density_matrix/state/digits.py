"""Index bits of wires.

A *digit* is what one wire contributes to the index of a number: two bits, I, X, Y, Z = 0..3. Wire 0
is the most significant digit. A *derivative wire* (the numbers n, n+1, ... behind the wires) is one
bit, below all digits. The product of two words has the digits of both, added bit by bit (XOR), and
two digits anticommute where `high * low' + low * high'` is odd.

The bits of `state_vector`'s checks are those of a mask of wires: wire w is bit n - 1 - w.
"""

from diastase_engine.call_context import OVERLAPPING_WIRES, WIRE_OUT_OF_RANGE, CallContext, fail
from diastase_engine.language import *
from diastase_engine.state_vector.state.records import State

MAX_WIRES = 20
"""More are refused before any size is computed: 4^21 numbers are 32 TiB."""
MAX_INDEX_BITS = 42


@inline
def index_bits(state: State) -> i64:
    """Bits of an index."""
    return 2 * state.qubits + state.derivatives


@inline
def digit_shift(state: State, wire: i64) -> i64:
    """The lower bit of a checked wire's digit."""
    return state.derivatives + 2 * (state.qubits - 1 - wire)


@kernel
def bits_of_wires(
    context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64], bits: ptr[i64]
) -> i64:
    """Write the bits of wires, derivative wires among them; how many, or -1 after an error.

    In the order of a row's number: the first wire's is the most significant.
    """
    all_wires = state.qubits + state.derivatives
    seen: i64 = 0
    written: i64 = 0
    for k in range(count):
        wire = wires[k]
        if wire < 0 or wire >= all_wires:
            fail(context, WIRE_OUT_OF_RANGE, site, wire, state.qubits)
            return -1
        if (seen >> wire) & 1 == 1:
            fail(context, OVERLAPPING_WIRES, site, wire, 0)
            return -1
        seen |= 1 << wire
        if wire < state.qubits:
            bits[written] = digit_shift(state, wire) + 1
            bits[written + 1] = digit_shift(state, wire)
            written += 2
        else:
            bits[written] = all_wires - 1 - wire
            written += 1
    return written


@kernel
def digits_of(state: State, count: i64, wires: ptr[i64], bits: ptr[i64]) -> None:
    """Write the bits of checked wires, in the same order."""
    for k in range(count):
        bits[2 * k] = digit_shift(state, wires[k]) + 1
        bits[2 * k + 1] = digit_shift(state, wires[k])


@kernel
def place_of_word(state: State, x: i64, z: i64) -> i64:
    """The index of a word, from the wires (as bits) on which it is X or Y, and Z or Y."""
    place: i64 = 0
    for bit in range(state.qubits):
        high = (z >> bit) & 1
        low = high ^ ((x >> bit) & 1)
        place |= (2 * high + low) << (state.derivatives + 2 * bit)
    return place
