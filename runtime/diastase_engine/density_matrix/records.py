"""Density matrices in memory: real vectors in the basis of Pauli words.

A density matrix rho of n wires is the vector of all r[P] = Tr(P rho), so rho = 2^-n sum r[P] P.
That rho is Hermitian is built in: 4^n real numbers, and every gate and channel is a real matrix,
its *transfer matrix* R[i, j] = 2^-k Tr(P_i E(P_j)) on k wires. One that preserves the trace has the
first row (1, 0, ..., 0); Pauli channels are diagonal, Clifford gates signed permutations.

The handle is the `State` of a state vector, so whoever releases states, follows scripts or checks
wires does it alike: `qubits` is n, and `bit_of_wire` the lower one of a wire's two *index bits*. A
wire's two bits are its *digit*: x + 2 z for X^x Z^z up to a phase, so I, X, Z, Y are 0, 1, 2, 3,
and words multiply by exclusive or. To the outside digits are in the order I, X, Y, Z
(`outer_digit`).

*Derivative wires* are index bits above all digits, one each: wire n + j is bit 2 n + k - 1 - j. A
vector with one holds a density matrix and its derivative, as dual numbers.

The vector lies in `amplitudes` as it is: number i is component i, LANES of them to a vector.
"""

from typing import Annotated

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    QUEUE_CAPACITY,
    Operation,
    State,
)

MAX_WIRES = 20
"""So many are refused before any size is computed: 4^20 numbers are 8 TiB."""
MOST_BITS = 6
"""Index bits of a matrix that is applied vector by vector: three wires."""
MOST_WAITING_BITS = 4
ONE_WIRE = 16
TWO_WIRES = 256
"""Elements of transfer matrices."""


class Waiting(Record):
    """A transfer matrix on some index bits, which waits to be applied."""

    count: i64
    bits: Annotated[ptr[i64], MOST_WAITING_BITS]
    """The first one is the most significant in the number of a row."""
    matrix: Annotated[ptr[f64], TWO_WIRES]


class Queue(Record):
    """Matrices that wait: on one wire one for each, after those on two wires, in their order."""

    length: i64
    singles: i64
    """The lower bits of the digits that have a matrix of their own waiting."""
    single: Annotated[ptr[f64], ONE_WIRE * MAX_WIRES]
    """Of the digit whose lower bit is b: from `ONE_WIRE * (b >> 1)` on."""


_HEAD = (size_of(Queue) + 63) // 64 * 64
CAPACITY = (QUEUE_CAPACITY * size_of(Operation) - _HEAD) // size_of(Waiting)
"""Matrices that can wait, in the memory that a state vector has for its own operations."""


@inline
def queue_of(state: State) -> Queue:
    """What waits."""
    return cast(state.operations, Queue)


@inline
def waiting_of(state: State) -> ptr[Waiting]:
    """The matrices on two wires that wait."""
    return cast(cast(state.operations, ptr[f64]) + _HEAD // 8, ptr[Waiting])


@inline
def index_bits(state: State) -> i64:
    """How many bits the number of a component has."""
    return 2 * state.qubits + state.derivative_wires


@inline
def components(state: State) -> ptr[stored]:
    """The vector, as numbers."""
    return cast(state.amplitudes, ptr[stored])


@inline
def vectors(state: State) -> i64:
    """How many vectors of `LANES` numbers there are; of a small state the last ones are zero."""
    return 2 * state.blocks


@inline
def outer_digit(digit: i64) -> i64:
    """The place of a digit in the order I, X, Y, Z, and back."""
    return digit ^ (digit >> 1)


__all__ = [
    "CAPACITY", "LANE_BITS", "MAX_WIRES", "MOST_BITS", "ONE_WIRE", "TWO_WIRES", "Queue", "State",
    "Waiting", "components", "index_bits", "outer_digit", "queue_of", "vectors", "waiting_of",
]  # fmt: skip
