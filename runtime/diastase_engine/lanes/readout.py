"""What programs read of each lane: probabilities, amplitudes, expectation values of Pauli words.

Lanes that are not active are read as well.
"""

from diastase_engine.call_context import OVERLAPPING_WIRES, CallContext, fail
from diastase_engine.lanes.device.launches import outcomes_there, words_there
from diastase_engine.lanes.pending import apply_all
from diastase_engine.lanes.records import WIDTH, group_of, lanes_of, norm_of, same
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import GPU, copy_back, fetch, if_gpu
from diastase_engine.state_vector.observables.pauli import Term, is_turned, read_term, repeated
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.checks import bits_of, cannot_run, mask_of
from diastase_engine.state_vector.state.records import MAX_QUBITS, State, free, memset
from diastase_engine.state_vector.tiles.sweeps import place_of

added_there, valued_there = if_gpu(outcomes_there), if_gpu(words_there)
fetched, copied_back = if_gpu(fetch), if_gpu(copy_back)


@kernel
def marginals(state: State, count: i64, bits: ptr[i64], out: ptr[f64]) -> None:
    """Add up the probabilities of each lane by the values of some bits."""
    lanes = lanes_of(state)
    weights = stack_array(v8, 1)
    numbers = cast(weights, ptr[f64])
    memset(out, 0, 8 * lanes.lanes << count)
    if GPU == 1:
        added_there(state, count, bits, out)
        return
    for index in range(1 << state.qubits):
        outcome = place_of(index, count, bits)
        for group in range(lanes.groups):
            weights[0] = norm_of(group_of(state, group), lanes.places[index])
            for lane in static(range(WIDTH)):
                place = ((WIDTH * group + lane) << count) + outcome
                out[place] = out[place] + numbers[lane]


@kernel
def probabilities(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], out: ptr[f64]
) -> None:
    """Probabilities of the outcomes on some wires in their order; of all wires where none."""
    if cannot_run(context, state):
        return
    if mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    apply_all(state)
    if n_wires == 0:
        marginals(state, state.qubits, state.bit_of_wire, out)
        return
    bits = stack_array(i64, MAX_QUBITS)
    bits_of(state, n_wires, wires, bits)
    marginals(state, n_wires, bits, out)


@kernel
def apply_phases(state: State) -> None:
    """Multiply the amplitudes of each lane by its phase."""
    lanes = lanes_of(state)
    if lanes.has_phase == 0:
        return
    lanes.has_phase = 0
    for group in range(lanes.groups):
        numbers = group_of(state, group)
        c, s = lanes.phases[2 * group], lanes.phases[2 * group + 1]
        for index in range(1 << state.qubits):
            x, y = numbers[2 * index], numbers[2 * index + 1]
            numbers[2 * index], numbers[2 * index + 1] = c * x - s * y, c * y + s * x
        lanes.phases[2 * group], lanes.phases[2 * group + 1] = same(1.0), same(0.0)


@kernel
def amplitudes(context: CallContext, state: State, out: ptr[f64]) -> None:
    """All amplitudes of each lane, wire 0 most significant, both parts alternating."""
    if cannot_run(context, state):
        return
    apply_all(state)
    if GPU == 1:
        copied_back(state)
        if lanes_of(state).has_phase != 0:
            fetched(state)
    apply_phases(state)
    lanes = lanes_of(state)
    for index in range(1 << state.qubits):
        place = place_of(index, state.qubits, state.bit_of_wire)
        for group in range(lanes.groups):
            numbers = cast(group_of(state, group) + lanes.places[index], ptr[f64])
            for lane in static(range(WIDTH)):
                target = 2 * (((WIDTH * group + lane) << state.qubits) + place)
                out[target] = numbers[lane]
                out[target + 1] = numbers[WIDTH + lane]


@kernel
def expectation(state: State, group: i64, term: Term) -> v8:
    """The expectation value of a word in the lanes of a group."""
    places = lanes_of(state).places
    numbers = group_of(state, group)
    total = same(0.0)
    # i^q, which is real for as many Y as make the other factor so.
    real = same(term.real)
    imaginary = same(term.imaginary)
    for index in range(1 << state.qubits):
        here, there = places[index], places[index ^ term.x]
        x, y = numbers[here], numbers[here + 1]
        u, v = numbers[there], numbers[there + 1]
        part = real * (x * u + y * v) - imaginary * (x * v - y * u)
        if count_ones(index & term.z) & 1 == 0:
            total += part
        else:
            total -= part
    return total


@kernel
def pauli_values(
    context: CallContext,
    state: State,
    site: i64,
    n_words: i64,
    offsets: ptr[i64],
    codes: ptr[i64],
    wires: ptr[i64],
    out: ptr[f64],
) -> None:
    """Expectation values of words, of each in all lanes."""
    if cannot_run(context, state):
        return
    memory = allocate(context, site, n_words * size_of(Term) + 8)
    if is_null(memory):
        return
    terms = cast(memory, ptr[Term])
    if are_words(context, state, site, n_words, offsets, codes, wires, terms):
        apply_all(state)
        write_values(state, n_words, terms, out)
    free(memory)


@kernel
def are_words(
    context: CallContext,
    state: State,
    site: i64,
    n_words: i64,
    offsets: ptr[i64],
    codes: ptr[i64],
    wires: ptr[i64],
    terms: ptr[Term],
) -> i1:
    """Write words as terms; false after an error."""
    for word in range(n_words):
        start, length = offsets[word], offsets[word + 1] - offsets[word]
        letters, places, term = codes + start, wires + start, terms[word]
        if not read_term(context, state, site, term, 1.0, length, letters, places):
            return False
        if is_turned(term):
            fail(context, OVERLAPPING_WIRES, site, repeated(length, places), 0)
            return False
    return True


@kernel
def write_values(state: State, count: i64, terms: ptr[Term], out: ptr[f64]) -> None:
    """Write the expectation values of words, of each in all lanes; nothing is pending."""
    lanes = lanes_of(state)
    if GPU == 1:
        valued_there(state, terms, count, out)
        return
    for word in range(count):
        for group in range(lanes.groups):
            place = word * lanes.lanes + WIDTH * group
            store_unaligned(out, place, expectation(state, group, terms[word]))
