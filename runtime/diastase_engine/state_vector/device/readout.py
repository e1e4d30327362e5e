"""Sums over amplitudes by a GPU: weights, expectation values of Pauli words, probabilities.

Each block adds up what every so-manieth amplitude gives, and the host adds up the blocks: neither
order depends on when blocks run. Sums are in double precision.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.device.arithmetic import add_up, amplitude, squared, times
from diastase_engine.state_vector.device.records import THREADS, Folding, Scaling, Sums
from diastase_engine.state_vector.device.stages import sign, without
from diastase_engine.state_vector.state.records import Term


@kernel
def add_weights(block: i64, run: Sums) -> None:
    """Add up squared magnitudes, apart where the bit is one."""
    zero, one = shared_array(f64, THREADS), shared_array(f64, THREADS)
    for thread in each_thread():
        weights = registers(f64, 2)
        weights[0], weights[1] = 0.0, 0.0
        for index in range(block * THREADS + thread, run.count, run.stride):
            weight = squared(amplitude(run.numbers, index))
            if index & run.mask != 0:
                weights[1] = weights[1] + weight
            else:
                weights[0] = weights[0] + weight
        zero[thread], one[thread] = weights[0], weights[1]
    add_up(zero)
    add_up(one)
    for thread in each_thread():
        if thread == 0:
            run.sums[2 * block], run.sums[2 * block + 1] = zero[0], one[0]


@kernel
def add_words(block: i64, run: Sums) -> None:
    """Add up what terms give, which are sorted by the bits that they flip."""
    parts = shared_array(f64, THREADS)
    for thread in each_thread():
        terms = cast(run.terms, ptr[Term])
        total: f64 = 0.0
        for index in range(block * THREADS + thread, run.count, run.stride):
            left = amplitude(run.numbers, index)
            product: pair = left
            flips: i64 = -1
            for k in range(run.n_terms):
                term = terms[k]
                if term.x != flips:
                    flips = term.x
                    conjugate = left * pair_of(1.0, -1.0)
                    product = times(conjugate, amplitude(run.numbers, index ^ flips))
                part = term.real * lane_of(product, 0) - term.imaginary * lane_of(product, 1)
                total += sign(index & term.z) * part
        parts[thread] = total
    add_up(parts)
    for thread in each_thread():
        if thread == 0:
            run.sums[2 * block], run.sums[2 * block + 1] = parts[0], 0.0


@kernel
def multiply_all(block: i64, run: Scaling) -> None:
    """Multiply all amplitudes by a real number."""
    for thread in each_thread():
        place = block * THREADS + thread
        if place < run.count:
            run.numbers[place] = run.numbers[place] * run.factor


@kernel
def write_weights(block: i64, run: Folding) -> None:
    """Write the squared magnitude of each amplitude."""
    for thread in each_thread():
        index = block * THREADS + thread
        if index < run.count:
            run.target[index] = squared(amplitude(run.numbers, index))


@kernel
def fold(block: i64, run: Folding) -> None:
    """Add up over both values of a bit, which is left out."""
    for thread in each_thread():
        index = block * THREADS + thread
        if index < run.count:
            zero = without(index, run.bit)
            run.target[index] = run.source[zero] + run.source[zero | (1 << run.bit)]
