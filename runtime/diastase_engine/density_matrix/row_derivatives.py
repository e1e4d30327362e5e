"""Derivatives of a loss by the numbers of a row, from those by the elements of its transfer matrix.

With H the derivatives by the elements of R, R[i, j] = 2^-k Tr(P_i U P_j U^+), a change dU changes
the loss by Re Tr(W dU), W = 2^(1-k) sum H[i, j] P_j U^+ P_i. A parameter of a gate enters U as
`a + b cos(f p) + c sin(f p)` (`gate_table`), so two shifted matrices give dU exactly.
"""

from math import pi

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.gates import SUPEROPERATOR
from diastase_engine.density_matrix.given import Given, matrix_of
from diastase_engine.density_matrix.pauli_basis import quarter_turns, turned, x_of, z_of
from diastase_engine.density_matrix.records import State
from diastase_engine.density_matrix.steps import given_of
from diastase_engine.density_matrix.superoperators import inner_matrix
from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.tape_replay import has_whole_frequency
from diastase_engine.state_vector.gates.gates import MOST_PARAMETERS
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import (
    DERIVATIVES,
    DIAGONAL,
    HEAD,
    UNITARY,
    WIRES,
)
from diastase_engine.state_vector.state.records import free, memset


@kernel
def write_weights(count: i64, matrix: ptr[f64], by_element: ptr[f64], weights: ptr[f64]) -> None:
    """Write W from U and H, both row-major; H is real."""
    size = 1 << count
    words = 1 << (2 * count)
    memset(weights, 0, 16 * size * size)
    scale = 2.0 / to_float(size)
    for i in range(words):
        x, z = x_of(i, count), z_of(i, count)
        for j in range(words):
            h = scale * by_element[i * words + j]
            if h != 0.0:
                u, w = x_of(j, count), z_of(j, count)
                for row in range(size):
                    turns = quarter_turns(u, w, row ^ u)
                    for column in range(size):
                        # The element (row ^ u, column ^ x) of U^+.
                        place = 2 * ((column ^ x) * size + (row ^ u))
                        both = (turns + quarter_turns(x, z, column)) & 3
                        a, b = turned(both, h * matrix[place], 0.0 - h * matrix[place + 1])
                        target = 2 * (row * size + column)
                        weights[target] = weights[target] + a
                        weights[target + 1] = weights[target + 1] + b


@kernel
def paired(size: i64, weights: ptr[f64], change: ptr[f64]) -> f64:
    """Re Tr(W dU)."""
    total: f64 = 0.0
    for row in range(size):
        for column in range(size):
            here, there = 2 * (row * size + column), 2 * (column * size + row)
            total += weights[here] * change[there] - weights[here + 1] * change[there + 1]
    return total


@kernel
def by_parameters(
    context: CallContext, site: i64, given: Given, count: i64, weights: ptr[f64],
    memory: ptr[f64], results: ptr[f64],
) -> None:  # fmt: skip
    """Write the derivatives by a gate's parameters; `memory` holds two matrices."""
    size = 1 << count
    numbers = stack_array(f64, MOST_PARAMETERS)
    own = given.numbers
    other = memory + 2 * size * size
    for k in range(given.count):
        for place in range(given.count):
            numbers[place] = own[place]
        whole = has_whole_frequency(given.kind, k)
        shift = 0.5 * pi if whole else pi
        given.numbers = numbers
        numbers[k] = own[k] + shift
        matrix_of(context, site, given, count, memory)
        numbers[k] = own[k] - shift
        matrix_of(context, site, given, count, other)
        given.numbers = own
        for place in range(2 * size * size):
            memory[place] = (0.5 if whole else 0.25) * (memory[place] - other[place])
        results[k] = paired(size, weights, memory)


@kernel
def by_elements(given: Given, count: i64, weights: ptr[f64], results: ptr[f64]) -> None:
    """Write the derivatives by the elements of a matrix, or of a diagonal."""
    size = 1 << count
    own = 1 << given.n_wires
    base: i64 = 0
    rest: i64 = given.controls
    while rest != 0:
        base = 2 * base + ((given.values >> count_trailing_zeros(rest)) & 1)
        rest &= rest - 1
    base = base << given.n_wires
    for row in range(own):
        for column in range(own):
            if given.kind == UNITARY or row == column:
                place = 2 * ((base + column) * size + base + row)
                target = 2 * (row * own + column) if given.kind == UNITARY else 2 * row
                results[target], results[target + 1] = weights[place], 0.0 - weights[place + 1]


@kernel
def derivatives_of_row(
    context: CallContext, state: State, site: i64, row: ptr[i64], bits: i64, by_element: ptr[f64],
    results: ptr[f64],
) -> None:  # fmt: skip
    """Write the derivatives of a row, from those by the elements of its matrix on `bits` bits."""
    if row[DERIVATIVES] == 0:
        return
    given = stack_record(Given)
    given_of(row, given)
    if given.kind == SUPEROPERATOR:
        inner_matrix(state, row[WIRES], row + HEAD, bits, by_element, results)
        return
    count = bits >> 1
    elements = 2 << (2 * count)
    memory = allocate(context, site, 32 * elements)
    if is_null(memory):
        return
    matrix, weights = memory, memory + elements
    matrix_of(context, site, given, count, matrix)
    write_weights(count, matrix, by_element, weights)
    if given.kind == UNITARY or given.kind == DIAGONAL:
        by_elements(given, count, weights, results)
    else:
        by_parameters(context, site, given, count, weights, memory + 2 * elements, results)
    free(memory)
