"""Sums over amplitudes by a GPU: weights, moments of Pauli words, probabilities.

Each block adds up what every so-manieth amplitude gives, and the host adds up the blocks: neither
order depends on when blocks run. Sums are in double precision.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.device.arithmetic import amplitude, squared, write_sums
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
    write_sums(zero, one, run.sums + 2 * block)


@inline
def applied(numbers: ptr[stored], terms: ptr[Term], count: i64, index: i64) -> list[f64]:
    """An element of O psi, its two parts; terms are sorted by the bits that they flip."""
    real: f64 = 0.0
    imaginary: f64 = 0.0
    k: i64 = 0
    while k < count:
        flips = terms[k].x
        a: f64 = 0.0
        b: f64 = 0.0
        while k < count and terms[k].x == flips:
            factor = sign(index & terms[k].z)
            a += factor * terms[k].real
            b += factor * terms[k].imaginary
            k += 1
        value = amplitude(numbers, index ^ flips)
        x, y = lane_of(value, 0), lane_of(value, 1)
        real += a * x - b * y
        imaginary += a * y + b * x
    return [real, imaginary]


@kernel
def add_words(block: i64, run: Sums) -> None:
    """Add up what <O> and <O O> are made of, for the sum O of all terms."""
    means, squares = shared_array(f64, THREADS), shared_array(f64, THREADS)
    for thread in each_thread():
        sums = registers(f64, 2)
        sums[0], sums[1] = 0.0, 0.0
        for index in range(block * THREADS + thread, run.count, run.stride):
            value = amplitude(run.numbers, index)
            parts = applied(run.numbers, cast(run.terms, ptr[Term]), run.n_terms, index)
            real, imaginary = parts[0], parts[1]
            mean = lane_of(value, 0) * real + lane_of(value, 1) * imaginary
            sums[0], sums[1] = sums[0] + mean, sums[1] + (real * real + imaginary * imaginary)
        means[thread], squares[thread] = sums[0], sums[1]
    write_sums(means, squares, run.sums + 2 * block)


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
