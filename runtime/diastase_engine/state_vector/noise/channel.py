"""A channel on a state vector: one of its Kraus operators, drawn and applied.

In: wires, and m Kraus matrices of 2^k rows, row-major, one after the other. Operator K becomes the
next one with the probability |K psi|^2, and the state becomes K psi, normalised (Monte Carlo wave
functions: Dalibard, Castin and Molmer, doi:10.1103/PhysRevLett.68.580). The average over draws is
the density matrix that the channel makes.

Of a *mixture of unitaries* (all K^dagger K are multiples of 1) the probabilities are known without
the state. So nothing waits for it: what is drawn is a gate like others, and where it is the
identity there is none. Else probabilities come from the density matrix of the wires; for one wire,
if all K^dagger K are diagonal, from the weights of both its values.

Most channels change little: of the first operator, K^dagger K has no eigenvalue below `least`, near
1. Who draws a smaller number has drawn it, whatever the state is. So then nobody looks, either, and
the state is normalised when somebody does (`has_any_norm`).

The operators must be complete, the K^dagger K add up to 1: `NOT_TRACE_PRESERVING` if they do not,
and if one of their numbers is none.
"""

from diastase_engine.call_context import (
    NOT_TRACE_PRESERVING,
    OUT_OF_MEMORY,
    CallContext,
    fail,
    next_uniform,
)
from diastase_engine.language import *
from diastase_engine.state_vector.gates.dense import unitary
from diastase_engine.state_vector.gates.operators import density_matrix
from diastase_engine.state_vector.measure.outcomes import outcome_weights
from diastase_engine.state_vector.measure.trajectories import (
    UNKNOWN_WEIGHT,
    all_choose_first,
    choose_for_all,
    chosen,
    repeated_choice,
    repeats,
)
from diastase_engine.state_vector.queue.queue import apply_waiting
from diastase_engine.state_vector.state.checks import cannot_run, is_drawable, mask_of
from diastase_engine.state_vector.state.records import OutcomeScript, State, free, malloc

COMPLETE = 2e-5
"""How far the sum of all K^dagger K may be from 1; PennyLane lets known ones be 1e-5 away."""
_WORTH_TRYING = 0.5
"""Eigenvalues below which it is hardly ever the case that nobody has to look."""
_ALIKE = 1e-12
"""Numbers of K^dagger K that differ less are equal."""


class Channel(Record):
    """What a channel is, while it is applied."""

    count: i64
    size: i64
    """Rows of a Kraus matrix."""
    matrices: ptr[f64]
    weights: ptr[f64]
    """Probabilities of all operators."""
    products: ptr[f64]
    """All K^dagger K."""
    scratch: ptr[f64]
    """Room for a matrix."""
    least: f64
    """No eigenvalue of the first K^dagger K is smaller (Gershgorin)."""
    is_mixture: i64
    is_diagonal: i64
    """Whether all K^dagger K are multiples of 1; whether all are diagonal."""


@kernel
def element_of_product(channel: Channel, which: i64, row: i64, column: i64, out: ptr[f64]) -> None:
    """Write an element of K^dagger K."""
    size = channel.size
    matrix = channel.matrices + 2 * size * size * which
    real: f64 = 0.0
    imaginary: f64 = 0.0
    for k in range(size):
        left, right = matrix + 2 * (k * size + row), matrix + 2 * (k * size + column)
        real += left[0] * right[0] + left[1] * right[1]
        imaginary += left[0] * right[1] - left[1] * right[0]
    out[0], out[1] = real, imaginary


@inline
def is_small(number: f64, bound: float) -> i1:
    """Whether a number is near zero; NaN is not."""
    return number < bound and -bound < number


@kernel
def least_eigenvalue(size: i64, product: ptr[f64]) -> f64:
    """Return a number that no eigenvalue of a Hermitian matrix is below (Gershgorin)."""
    least: f64 = 1.0
    for row in range(size):
        bound: f64 = product[2 * row * (size + 1)]
        for column in range(size):
            if column != row:
                place = product + 2 * (row * size + column)
                bound -= square_root(place[0] * place[0] + place[1] * place[1])
        if bound < least:
            least = bound
    return least


@kernel
def read_channel(channel: Channel) -> i1:
    """Fill in what is known without a state; whether the operators are complete."""
    size = channel.size
    channel.is_mixture, channel.is_diagonal = 1, 1
    for which in range(channel.count):
        product = channel.products + 2 * size * size * which
        for row in range(size):
            for column in range(size):
                place = product + 2 * (row * size + column)
                element_of_product(channel, which, row, column, place)
                real = place[0] - (product[0] if row == column else 0.0)
                if not is_small(real, _ALIKE) or not is_small(place[1], _ALIKE):
                    channel.is_mixture = 0
                    if row != column:
                        channel.is_diagonal = 0
        channel.weights[which] = product[0]
    channel.least = least_eigenvalue(size, channel.products)
    for row in range(size):
        for column in range(size):
            real: f64 = -1.0 if row == column else 0.0
            imaginary: f64 = 0.0
            for which in range(channel.count):
                place = channel.products + 2 * ((size * which + row) * size + column)
                real += place[0]
                imaginary += place[1]
            if not is_small(real, COMPLETE) or not is_small(imaginary, COMPLETE):
                return False
    return True


@kernel
def weigh(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], channel: Channel
) -> f64:
    """Find the probabilities of all operators in this state; return its squared norm."""
    size = channel.size
    rho = channel.scratch
    if n_wires == 1 and channel.is_diagonal != 0:
        apply_waiting(state)
        weights, number = stack_array(f64, 2), stack_array(f64, 2)
        number[0] = 0.0
        outcome_weights(state, state.bit_of_wire[wires[0]], weights, number)
        for k in static(range(8)):
            rho[k] = 0.0
        rho[0], rho[6] = weights[0], weights[1]
    else:
        density_matrix(context, state, site, n_wires, wires, rho)
    for which in range(channel.count):
        product = channel.products + 2 * size * size * which
        weight: f64 = 0.0
        for place in range(size * size):  # Tr(A B) = sum of conj(A[i, j]) B[i, j]: both Hermitian
            weight += product[2 * place] * rho[2 * place]
            weight += product[2 * place + 1] * rho[2 * place + 1]
        channel.weights[which] = weight
    total: f64 = 0.0
    for row in range(size):
        total += rho[2 * row * (size + 1)]
    return total


@kernel
def is_trivial(channel: Channel, matrix: ptr[f64]) -> i1:
    """Whether an operator does nothing but multiply by a number."""
    size = channel.size
    for row in range(size):
        for column in range(size):
            place = matrix + 2 * (row * size + column)
            real = matrix[0] if row == column else 0.0
            imaginary = matrix[1] if row == column else 0.0
            if place[0] != real or place[1] != imaginary:
                return False
    return True


@kernel
def choose(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    channel: Channel,
    weight: ptr[f64],
) -> i64:
    """Return the operator that is applied; writes the squared norm that it leaves."""
    script = cast(state.script, OutcomeScript)
    if not is_null(script) and repeats(script):
        return repeated_choice(script, weight)
    has_script = not is_null(script) and not is_null(script.trajectories)
    total: f64 = 0.0
    if channel.is_mixture != 0:
        for which in range(channel.count):
            total += channel.weights[which]
    else:
        least = channel.least - COMPLETE
        if has_script and least > _WORTH_TRYING:
            if all_choose_first(context, script, site, least):
                weight[0] = UNKNOWN_WEIGHT
                return 0
        total = weigh(context, state, site, n_wires, wires, channel)
        if context.code != 0 or not is_drawable(context, site, total):
            return 0
    which: i64 = 0
    if not has_script:
        which = chosen(channel.count, channel.weights, total, next_uniform(context))
    else:
        which = choose_for_all(context, script, site, channel.count, channel.weights, total)
    weight[0] = channel.weights[which]
    return which


@kernel
def apply_chosen(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    channel: Channel,
) -> None:
    """Choose an operator, and apply it."""
    numbers = 2 * channel.size * channel.size
    weight = stack_array(f64, 1)
    weight[0] = 1.0
    which = choose(context, state, site, n_wires, wires, channel, weight)
    if context.code != 0:
        return
    matrix = channel.matrices + numbers * which
    if channel.is_mixture != 0 and is_trivial(channel, matrix):
        return
    is_unknown = weight[0] == UNKNOWN_WEIGHT
    scale = 1.0 if is_unknown else 1.0 / square_root(weight[0])
    for k in range(numbers):
        channel.scratch[k] = scale * matrix[k]
    no_wires = null(ptr[i64])
    unitary(context, state, site, n_wires, wires, 0, no_wires, no_wires, channel.scratch)
    if is_unknown:
        state.has_any_norm = 1


@kernel
def kraus(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    count: i64,
    matrices: ptr[f64],
) -> None:
    """Apply a channel on some wires, given by its Kraus operators."""
    if cannot_run(context, state):
        return
    if mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    size = 1 << n_wires
    matrix_numbers = 2 * size * size
    numbers = count + (count + 1) * matrix_numbers
    memory = malloc(8 * numbers)
    if is_null(memory):
        fail(context, OUT_OF_MEMORY, site, 8 * numbers, 0)
        return
    channel = stack_record(Channel)
    channel.count, channel.size, channel.matrices = count, size, matrices
    channel.weights = memory
    channel.products = memory + count
    channel.scratch = channel.products + count * matrix_numbers
    if read_channel(channel):
        apply_chosen(context, state, site, n_wires, wires, channel)
    else:
        fail(context, NOT_TRACE_PRESERVING, site, 0, 0)
    free(memory)
