"""Expectation values and variances of Hermitian observables, from their first two moments."""

from diastase_engine.call_context import CallContext
from diastase_engine.language import cast, f64, i64, is_null, kernel, ptr, stack_array
from diastase_engine.state_vector.gates.dense import matrix_moments
from diastase_engine.state_vector.observables.pauli import pauli_moments, read_terms, terms_of
from diastase_engine.state_vector.observables.pauli_expectation import expectation_of_terms
from diastase_engine.state_vector.observables.pauli_words import Word
from diastase_engine.state_vector.queue.memory import free
from diastase_engine.state_vector.queue.queue import flush
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.records import State


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
    """Return expectation value of a sum of Pauli words."""
    if cannot_run(context, state) or n_terms < 1:
        return 0.0
    memory = read_terms(
        context, state, site, n_terms, coefficients, term_offsets, pauli_codes, wires
    )
    if is_null(memory):
        return 0.0
    flush(state)
    # The weights that lie before the terms are for sums that are applied.
    words = cast(memory, ptr[Word])
    result = expectation_of_terms(state, terms_of(memory, n_terms), n_terms, words)
    free(memory)
    return result


@kernel
def var_pauli(
    context: CallContext,
    state: State,
    site: i64,
    n_terms: i64,
    coefficients: ptr[f64],
    term_offsets: ptr[i64],
    pauli_codes: ptr[i64],
    wires: ptr[i64],
) -> f64:
    """Variance of a sum of Pauli words."""
    moments = stack_array(f64, 2)
    pauli_moments(
        context, state, site, n_terms, coefficients, term_offsets, pauli_codes, wires, moments
    )
    return moments[1] - moments[0] * moments[0]


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
    moments = stack_array(f64, 2)
    matrix_moments(context, state, site, n_wires, wires, matrix, moments)
    return moments[0]


@kernel
def var_matrix(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    matrix: ptr[f64],
) -> f64:
    """Variance of a Hermitian matrix on some wires."""
    moments = stack_array(f64, 2)
    matrix_moments(context, state, site, n_wires, wires, matrix, moments)
    return moments[1] - moments[0] * moments[0]
