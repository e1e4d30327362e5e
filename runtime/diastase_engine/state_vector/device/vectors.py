"""Two states as vectors, on a GPU: one, or words applied to it, added to the other; products.

Both have their wires in the same order; they may be the same state, but where it says so.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.device.arithmetic import amplitude, put, times, write_sums
from diastase_engine.state_vector.device.readout import applied
from diastase_engine.state_vector.device.records import THREADS
from diastase_engine.state_vector.state.records import Term


class Addition(Record):
    """Words of `add_multiple`."""

    target: ptr[stored]
    source: ptr[stored]
    count: i64
    """Amplitudes."""
    real: f64
    imaginary: f64


class AppliedWords(Record):
    """Words of `add_applied`."""

    target: ptr[stored]
    source: ptr[stored]
    count: i64
    """Amplitudes."""
    terms: ptr[Term]
    n_terms: i64


class Products(Record):
    """Words of `add_products`; `records.Sums` has the same for one state."""

    bra: ptr[stored]
    ket: ptr[stored]
    count: i64
    stride: i64
    sums: ptr[f64]


@kernel
def add_multiple(block: i64, run: Addition) -> None:
    """Add a multiple of the amplitudes of one state to those of another."""
    for thread in each_thread():
        index = block * THREADS + thread
        if index < run.count:
            part = times(pair_of(run.real, run.imaginary), amplitude(run.source, index))
            put(run.target, index, amplitude(run.target, index) + part)


@kernel
def add_applied(block: i64, run: AppliedWords) -> None:
    """Add a sum of Pauli words, applied to one state, to another state, which is not the same."""
    for thread in each_thread():
        index = block * THREADS + thread
        if index < run.count:
            before = amplitude(run.target, index)
            parts = applied(run.source, run.terms, run.n_terms, index)
            real, imaginary = lane_of(before, 0) + parts[0], lane_of(before, 1) + parts[1]
            put(run.target, index, pair_of(real, imaginary))


@kernel
def add_products(block: i64, run: Products) -> None:
    """Add up the amplitudes of the ket times the conjugates of the bra's."""
    real, imaginary = shared_array(f64, THREADS), shared_array(f64, THREADS)
    for thread in each_thread():
        sums = registers(f64, 2)
        sums[0], sums[1] = 0.0, 0.0
        for index in range(block * THREADS + thread, run.count, run.stride):
            left, right = amplitude(run.bra, index), amplitude(run.ket, index)
            x, y = lane_of(left, 0), lane_of(left, 1)
            u, w = lane_of(right, 0), lane_of(right, 1)
            sums[0], sums[1] = sums[0] + (x * u + y * w), sums[1] + (x * w - y * u)
        real[thread], imaginary[thread] = sums[0], sums[1]
    write_sums(real, imaginary, run.sums + 2 * block)
