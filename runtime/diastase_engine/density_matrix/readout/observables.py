"""Density matrices of some wires, expectation values, and the seeds of a sweep back.

A *seed* adds the vector a of an observable to an adjoint register: `Tr(O rho) = a . r`.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.operations.apply import flush
from diastase_engine.density_matrix.operations.groups import fill_offsets
from diastase_engine.density_matrix.operations.hermitian import matrix_of_square, square_of_matrix
from diastase_engine.density_matrix.readout.outcomes import place_of_signs, transform
from diastase_engine.density_matrix.state.digits import MAX_INDEX_BITS, digits_of, place_of_word
from diastase_engine.language import *
from diastase_engine.state_vector.observables import expectations as pure
from diastase_engine.state_vector.observables.pauli import Term, read_terms, terms_of
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.checks import cannot_run, mask_of
from diastase_engine.state_vector.state.records import State, free


@kernel
def density_matrix(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], out: ptr[f64]
) -> None:
    """Write the density matrix of some wires, row-major, the others traced out."""
    if cannot_run(context, state):
        return
    if mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    size = 1 << (2 * n_wires)
    memory = allocate(context, site, 24 * size)
    if is_null(memory):
        return
    flush(state)
    offsets, square = cast(memory, ptr[i64]), memory + size
    bits = stack_array(i64, MAX_INDEX_BITS)
    digits_of(state, n_wires, wires, bits)
    fill_offsets(2 * n_wires, bits, offsets)
    numbers = cast(state.amplitudes, ptr[stored])
    for row in range(size):
        square[2 * row], square[2 * row + 1] = numbers[offsets[row]], 0.0
    matrix_of_square(square, n_wires, 1.0 / to_float(1 << n_wires), out)
    free(memory)


@kernel
def amplitudes(context: CallContext, state: State, out: ptr[stored]) -> None:
    """The density matrix of all wires, row-major, wire 0 most significant."""
    if cannot_run(context, state):
        return
    wires = stack_array(i64, MAX_INDEX_BITS)
    for wire in range(state.qubits):
        wires[wire] = wire
    count = 2 << (2 * state.qubits)
    memory = allocate(context, -1, 8 * count)
    if is_null(memory):
        return
    density_matrix(context, state, -1, state.qubits, wires, memory)
    for k in range(count):
        out[k] = memory[k]
    free(memory)


@inline
def weight_of(real: f64, imaginary: f64, odd: i64) -> f64:
    """The coefficient of a word of letters, of `Z^z X^x` with so many letters Y (modulo 4)."""
    return select(odd == 0, real, select(odd == 1, -imaginary, select(odd == 2, -real, imaginary)))


@kernel
def word_weight(term: Term) -> f64:
    """The real coefficient of a word of letters."""
    return weight_of(term.real, term.imaginary, count_ones(term.x & term.z) & 3)


@kernel
def mean_of_terms(state: State, memory: ptr[f64], count: i64) -> f64:
    """Return Tr(O rho) of what `read_terms` made; nothing waits."""
    terms = terms_of(memory, count)
    numbers = cast(state.amplitudes, ptr[stored])
    total: f64 = 0.0
    for k in range(count):
        place = place_of_word(state, terms[k].x, terms[k].z)
        total += word_weight(terms[k]) * numbers[place]
    return total


@kernel
def mean_of_square(state: State, memory: ptr[f64], count: i64) -> f64:
    """Return Tr(O O rho), likewise."""
    terms = terms_of(memory, count)
    numbers = cast(state.amplitudes, ptr[stored])
    total: f64 = 0.0
    for k in range(count):
        a = terms[k]
        for j in range(count):
            b = terms[j]
            # Words that do not commute cancel with their product in the other order.
            if (count_ones(a.x & b.z) + count_ones(a.z & b.x)) & 1 == 0:
                # Z^z X^x Z^z' X^x': each Z of the second passes the Xs of the first.
                sign = 1.0 - 2.0 * to_float(count_ones(a.x & b.z) & 1)
                real = a.real * b.real - a.imaginary * b.imaginary
                imaginary = a.real * b.imaginary + a.imaginary * b.real
                x, z = a.x ^ b.x, a.z ^ b.z
                weight = weight_of(real, imaginary, count_ones(x & z) & 3)
                total += sign * weight * numbers[place_of_word(state, x, z)]
    return total


expval_pauli = kernel_like(pure.expval_pauli, flush=flush, mean_of_terms=mean_of_terms)
square_pauli = kernel_like(pure.expval_pauli, flush=flush, mean_of_terms=mean_of_square)


@kernel
def add_pauli_words(
    context: CallContext,
    adjoint: State,
    site: i64,
    n_terms: i64,
    coefficients: ptr[f64],
    term_offsets: ptr[i64],
    pauli_codes: ptr[i64],
    wires: ptr[i64],
) -> None:
    """Add the vector of a sum of Pauli words."""
    memory = read_terms(
        context, adjoint, site, n_terms, coefficients, term_offsets, pauli_codes, wires
    )
    if is_null(memory):
        return
    flush(adjoint)
    terms = terms_of(memory, n_terms)
    numbers = cast(adjoint.amplitudes, ptr[stored])
    for k in range(n_terms):
        place = place_of_word(adjoint, terms[k].x, terms[k].z)
        numbers[place] = numbers[place] + word_weight(terms[k])
    free(memory)


@kernel
def observable_square(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    matrix: ptr[f64],
) -> ptr[f64]:
    """Offsets of all digits of some wires, then a matrix as coefficients of words; or null."""
    if cannot_run(context, state):
        return null(ptr[f64])
    if mask_of(context, state, site, n_wires, wires, 0) < 0:
        return null(ptr[f64])
    size = 1 << (2 * n_wires)
    memory = allocate(context, site, 24 * size)
    if is_null(memory):
        return memory
    bits = stack_array(i64, MAX_INDEX_BITS)
    digits_of(state, n_wires, wires, bits)
    fill_offsets(2 * n_wires, bits, cast(memory, ptr[i64]))
    square_of_matrix(matrix, n_wires, memory + size)
    flush(state)
    return memory


@kernel
def expval_matrix(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    matrix: ptr[f64],
) -> f64:
    """Return expectation value of a Hermitian matrix on some wires."""
    memory = observable_square(context, state, site, n_wires, wires, matrix)
    if is_null(memory):
        return 0.0
    size = 1 << (2 * n_wires)
    offsets, square = cast(memory, ptr[i64]), memory + size
    numbers = cast(state.amplitudes, ptr[stored])
    total: f64 = 0.0
    for row in range(size):
        total += square[2 * row] * numbers[offsets[row]]
    free(memory)
    return total


@kernel
def add_operator(
    context: CallContext,
    adjoint: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    matrix: ptr[f64],
) -> None:
    """Add the vector of a Hermitian matrix on some wires."""
    memory = observable_square(context, adjoint, site, n_wires, wires, matrix)
    if is_null(memory):
        return
    size = 1 << (2 * n_wires)
    offsets, square = cast(memory, ptr[i64]), memory + size
    numbers = cast(adjoint.amplitudes, ptr[stored])
    for row in range(size):
        numbers[offsets[row]] = numbers[offsets[row]] + square[2 * row]
    free(memory)


@kernel
def add_diagonal(
    context: CallContext,
    adjoint: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    elements: ptr[f64],
) -> None:
    """Add the vector of a diagonal matrix with these (real) elements on some wires."""
    if cannot_run(context, adjoint):
        return
    if mask_of(context, adjoint, site, n_wires, wires, 0) < 0:
        return
    size = 1 << n_wires
    values = allocate(context, site, 8 * size)
    if is_null(values):
        return
    flush(adjoint)
    scale = 1.0 / to_float(size)
    for k in range(size):
        values[k] = scale * elements[k]
    transform(n_wires, values)
    numbers = cast(adjoint.amplitudes, ptr[stored])
    for signs in range(size):
        place = place_of_signs(adjoint, n_wires, wires, signs)
        numbers[place] = numbers[place] + values[signs]
    free(values)
