"""Expectation values of density matrices, and density matrices as vectors.

The expectation of a Pauli word is one component. An observable O is the vector of its coefficients
o[P] in sum o[P] P, and <O> the product of both; so the adjoint of a loss, where a sweep back
begins, is a sum of such vectors. Only the first half of a state with derivative wires is looked at.
"""

from diastase_engine.call_context import SIZE_MISMATCH, CallContext, fail
from diastase_engine.density_matrix.measure import all_wires, word_at
from diastase_engine.density_matrix.pauli_basis import to_words, word_of_element
from diastase_engine.density_matrix.queue import flush
from diastase_engine.density_matrix.records import State, components, vectors
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.checks import add_to_mask, cannot_run, mask_of
from diastase_engine.state_vector.state.records import MAX_QUBITS, free

_Y = 2
"""Its code in tables of words; 1 is X, 3 is Z."""


@kernel
def word_of_term(
    context: CallContext, state: State, site: i64, first: i64, end: i64, codes: ptr[i64],
    wires: ptr[i64],
) -> i64:  # fmt: skip
    """The component of a term's word, or -1 where a wire is bad."""
    word: i64 = 0
    mask: i64 = 0
    for k in range(first, end):
        mask = add_to_mask(context, state, site, wires[k], mask)
        if mask < 0:
            return -1
        bit = state.bit_of_wire[wires[k]]
        word |= (1 if codes[k] <= _Y else 0) << bit
        word |= (1 if codes[k] >= _Y else 0) << (bit + 1)
    return word


@kernel
def expval_pauli(
    context: CallContext,
    state: State,
    site: i64,
    n_terms: i64,
    coefficients: ptr[f64],
    term_offsets: ptr[i64],
    pauli_codes: ptr[i64],
    wires: ptr[i64],
) -> f64:
    """Return the expectation value of a sum of Pauli words."""
    if cannot_run(context, state):
        return 0.0
    flush(state)
    total: f64 = 0.0
    for term in range(n_terms):
        first, end = term_offsets[term], term_offsets[term + 1]
        word = word_of_term(context, state, site, first, end, pauli_codes, wires)
        if word < 0:
            return 0.0
        total += coefficients[term] * components(state)[word]
    return total


@kernel
def words_of_terms(
    context: CallContext,
    state: State,
    site: i64,
    n_terms: i64,
    term_offsets: ptr[i64],
    pauli_codes: ptr[i64],
    wires: ptr[i64],
) -> ptr[i64]:
    """The components of all terms' words, or null."""
    words = cast(allocate(context, site, 8 * n_terms), ptr[i64])
    if not is_null(words):
        for term in range(n_terms):
            first, end = term_offsets[term], term_offsets[term + 1]
            words[term] = word_of_term(context, state, site, first, end, pauli_codes, wires)
        if context.code != 0:
            free(cast(words, ptr[f64]))
            return null(ptr[i64])
    return words


@kernel
def split(state: State, word: i64, x: ptr[i64], z: ptr[i64]) -> None:
    """Write the x and z bits of a component's word, by wires."""
    x[0], z[0] = 0, 0
    for wire in range(state.qubits):
        x[0] = x[0] | ((word >> state.bit_of_wire[wire]) & 1) << wire
        z[0] = z[0] | ((word >> (state.bit_of_wire[wire] + 1)) & 1) << wire


@kernel
def product_sign(state: State, first: i64, second: i64) -> f64:
    """The real factor of the product of two words; zero where they do not commute."""
    a, b, c, d = stack_array(i64, 1), stack_array(i64, 1), stack_array(i64, 1), stack_array(i64, 1)
    split(state, first, a, b)
    split(state, second, c, d)
    # (i^(x z) X^x Z^z)(i^(u w) X^u Z^w): Z^z passes X^u, and the product's word has a phase, too.
    turns = count_ones(a[0] & b[0]) + count_ones(c[0] & d[0]) + 2 * count_ones(b[0] & c[0])
    turns = (turns - count_ones((a[0] ^ c[0]) & (b[0] ^ d[0]))) & 3
    if turns & 1 == 1:
        return 0.0
    return 1.0 if turns == 0 else -1.0


@kernel
def square_pauli(
    context: CallContext,
    state: State,
    site: i64,
    n_terms: i64,
    coefficients: ptr[f64],
    term_offsets: ptr[i64],
    pauli_codes: ptr[i64],
    wires: ptr[i64],
) -> f64:
    """Return the expectation value of the square of a sum of Pauli words."""
    if cannot_run(context, state) or n_terms < 1:
        return 0.0
    flush(state)
    words = words_of_terms(context, state, site, n_terms, term_offsets, pauli_codes, wires)
    if is_null(words):
        return 0.0
    total: f64 = 0.0
    for k in range(n_terms):
        total += coefficients[k] * coefficients[k] * components(state)[0]
        for other in range(k):
            sign = product_sign(state, words[k], words[other])
            value = components(state)[words[k] ^ words[other]]
            total += 2.0 * sign * coefficients[k] * coefficients[other] * value
    free(cast(words, ptr[f64]))
    return total


@kernel
def operator_words(context: CallContext, site: i64, count: i64, matrix: ptr[f64]) -> ptr[f64]:
    """The traces of a matrix with all words on its wires, as complex numbers, or null."""
    memory = allocate(context, site, 16 << (2 * count))
    if is_null(memory):
        return memory
    size = 1 << count
    for row in range(size):
        for column in range(size):
            place, source = 2 * word_of_element(row, column, count), 2 * (row * size + column)
            memory[place], memory[place + 1] = matrix[source], matrix[source + 1]
    to_words(count, memory)
    return memory


@kernel
def component_of(state: State, count: i64, wires: ptr[i64], word: i64) -> i64:
    """The component of a word on some wires, the last one's digit the lowest."""
    index: i64 = 0
    for k in range(count):
        index |= ((word >> (2 * k)) & 3) << state.bit_of_wire[wires[count - 1 - k]]
    return index


@kernel
def expval_matrix(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], matrix: ptr[f64]
) -> f64:
    """Return the expectation value of a Hermitian matrix on some wires."""
    if cannot_run(context, state) or mask_of(context, state, site, n_wires, wires, 0) < 0:
        return 0.0
    flush(state)
    memory = operator_words(context, site, n_wires, matrix)
    if is_null(memory):
        return 0.0
    total: f64 = 0.0
    for word in range(1 << (2 * n_wires)):
        total += memory[2 * word] * components(state)[component_of(state, n_wires, wires, word)]
    free(memory)
    return total * (1.0 / to_float(1 << n_wires))


# --- adjoints -------------------------------------------------------------------------------------


@kernel
def add_to(state: State, component: i64, change: f64) -> None:
    """Add a number to a component."""
    numbers = components(state)
    numbers[component] = numbers[component] + change


@kernel
def add_pauli_words(
    context: CallContext,
    state: State,
    site: i64,
    n_terms: i64,
    coefficients: ptr[f64],
    term_offsets: ptr[i64],
    pauli_codes: ptr[i64],
    wires: ptr[i64],
) -> None:
    """Add the vector of a sum of Pauli words."""
    if cannot_run(context, state) or n_terms < 1:
        return
    flush(state)
    words = words_of_terms(context, state, site, n_terms, term_offsets, pauli_codes, wires)
    if not is_null(words):
        for term in range(n_terms):
            add_to(state, words[term], coefficients[term])
        free(cast(words, ptr[f64]))


@kernel
def add_operator(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], matrix: ptr[f64]
) -> None:
    """Add the vector of a Hermitian matrix on some wires."""
    if cannot_run(context, state) or mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    flush(state)
    memory = operator_words(context, site, n_wires, matrix)
    if is_null(memory):
        return
    scale = 1.0 / to_float(1 << n_wires)
    for word in range(1 << (2 * n_wires)):
        add_to(state, component_of(state, n_wires, wires, word), scale * memory[2 * word])
    free(memory)


@kernel
def add_diagonal(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64],
    elements: ptr[f64],
) -> None:  # fmt: skip
    """Add the vector of a diagonal matrix, an element for each outcome; on all wires where none."""
    if cannot_run(context, state) or mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    flush(state)
    chosen = stack_array(i64, MAX_QUBITS)
    count = all_wires(state, n_wires, wires, chosen)
    memory = allocate(context, site, 8 << count)
    if is_null(memory):
        return
    for k in range(1 << count):
        memory[k] = elements[k]
    for bit in range(count):
        step = 1 << bit
        for k in range(1 << count):
            if k & step == 0:
                a, b = memory[k], memory[k + step]
                memory[k], memory[k + step] = 0.5 * (a + b), 0.5 * (a - b)
    for k in range(1 << count):
        add_to(state, word_at(state, count, chosen, 0, k), memory[k])
    free(memory)


# --- as vectors -----------------------------------------------------------------------------------


@kernel
def can_meet(context: CallContext, first: State, second: State, site: i64) -> i1:
    """Apply what waits; false where the sizes or the orders of wires differ, or after an error."""
    if cannot_run(context, first) or is_null(second):
        return False
    total = first.qubits + first.derivative_wires
    if first.qubits != second.qubits or first.derivative_wires != second.derivative_wires:
        fail(context, SIZE_MISMATCH, site, second.qubits, first.qubits)
        return False
    flush(first)
    flush(second)
    for wire in range(total):
        if first.bit_of_wire[wire] != second.bit_of_wire[wire]:
            return reorder(context, second, first, site)
    return True


@kernel
def reorder(context: CallContext, state: State, like: State, site: i64) -> i1:
    """Move components so that the wires have the bits that they have in another state."""
    bits = 2 * state.qubits + state.derivative_wires
    memory = allocate(context, site, 8 << bits)
    if is_null(memory):
        return False
    numbers = components(state)
    for k in range(1 << bits):
        index: i64 = k & ~((1 << (2 * state.qubits)) - 1)
        for wire in range(state.qubits):
            index |= ((k >> state.bit_of_wire[wire]) & 3) << like.bit_of_wire[wire]
        memory[index] = numbers[k]
    for k in range(1 << bits):
        numbers[k] = memory[k]
    for wire in range(state.qubits):
        state.bit_of_wire[wire] = like.bit_of_wire[wire]
    free(memory)
    return True


@kernel
def state_scale_add(
    context: CallContext, target: State, source: State, site: i64, factor: ptr[f64]
) -> None:
    """`target += factor source`, of the factor its real part."""
    if not can_meet(context, target, source, site):
        return
    a = broadcast(factor[0])
    for k in range(vectors(target)):
        target.amplitudes[k] = target.amplitudes[k] + a * source.amplitudes[k]


@kernel
def inner_product(context: CallContext, bra: State, ket: State, site: i64, out: ptr[f64]) -> None:
    """Write the product of two vectors, and zero."""
    out[0], out[1] = 0.0, 0.0
    if not can_meet(context, bra, ket, site):
        return
    total = broadcast_wide(0.0)
    for k in range(vectors(bra)):
        total += widen(bra.amplitudes[k] * ket.amplitudes[k])
    out[0] = horizontal_sum(total)
