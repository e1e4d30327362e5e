"""The adjoint of a register for what was measured on it: where the sweep back starts.

The adjoint A of a state S for a loss L: a small change dS changes L by Re <A|dS>. Each rule adds
what a measurement contributes to the adjoint collected so far. `BY_OPERAND` gives the cotangent of
a measurement's first operand, coefficients or a matrix, where it has one.

    <S|O|S>, cotangent c            A = 2 c O S
    probabilities, cotangents c     A = 2 c[i] S, on the wires that were measured
    the state, cotangents c         A = conj(c)
    a density matrix                A = 2 O S, with O = (c^T + conj c) / 2
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from diastase.primitives import measurement, statevector
from diastase.primitives.quantum import diagonal_p, release_p, unitary_p
from diastase.primitives.statevector import set_amplitudes_p

Equation = Any
Seed = Callable[[Equation, Any, Sequence[Any], Any, Any], Any]
"""Of the equation, the state, the classical operands, the cotangent, the adjoint."""
ByOperand = Callable[[Equation, Any, Sequence[Any], Any], Any]


def _added(adjoint: Any, copy: Any, factor: Any) -> Any:
    adjoint = statevector.add_scaled_p.bind(adjoint, copy, jnp.asarray(factor, jnp.complex128))
    release_p.bind(copy)
    return adjoint


def _copy(state: Any, blank: bool = False) -> Any:
    return statevector.copy_register_p.bind(state, blank=blank)


def _with_operator(state: Any, matrix: Any, wires: Any, operands: Sequence[Any]) -> Any:
    """A copy of the state, multiplied by a matrix that need not be unitary."""
    matrix = jnp.asarray(matrix, jnp.complex128)
    return unitary_p.bind(_copy(state), matrix, *operands, wires=wires, control_values=())


def _plus_adjoint(matrix: Any) -> Any:
    return matrix + jnp.conj(matrix).T


def _expval_pauli(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any, adjoint: Any
) -> Any:
    coefficients, *wires = operands
    words = equation.params["words"]
    factors = 2 * cotangent * coefficients
    return statevector.add_pauli_sum_p.bind(adjoint, state, factors, *wires, words=words)


def _expval_matrix(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any, adjoint: Any
) -> Any:
    matrix, *wires = operands
    copy = _with_operator(state, _plus_adjoint(matrix), equation.params["wires"], wires)
    return _added(adjoint, copy, cotangent)


def _with_amplitudes(state: Any, amplitudes: Any, adjoint: Any) -> Any:
    copy = _copy(state, blank=True)
    return _added(adjoint, set_amplitudes_p.bind(copy, amplitudes.astype(jnp.complex128)), 1)


def _probs(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any, adjoint: Any
) -> Any:
    known = equation.params["wires"]
    if not known:
        amplitudes = measurement.state_p.bind(state, size=equation.params["size"])
        return _with_amplitudes(state, 2 * cotangent * amplitudes, adjoint)
    elements = jnp.asarray(2 * cotangent, jnp.complex128)
    copy = diagonal_p.bind(_copy(state), elements, *operands, wires=known, control_values=())
    return _added(adjoint, copy, 1)


def _state(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any, adjoint: Any
) -> Any:
    return _with_amplitudes(state, jnp.conj(cotangent), adjoint)


def _density_matrix(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any, adjoint: Any
) -> Any:
    observable = cotangent.T + jnp.conj(cotangent)
    copy = _with_operator(state, observable, equation.params["wires"], operands)
    return _added(adjoint, copy, 1)


def _product(state: Any, coefficients: Any, wires: Sequence[Any], words: Any) -> Any:
    """A register with the state multiplied by a sum of words; to be released."""
    blank = _copy(state, blank=True)
    return statevector.add_pauli_sum_p.bind(blank, state, coefficients, *wires, words=words)


def _var_pauli(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any, adjoint: Any
) -> Any:
    """A = 2 c (O O - 2 <O> O) S."""
    coefficients, *wires = operands
    words = equation.params["words"]
    product = _product(state, coefficients, wires, words)
    mean = jnp.real(statevector.inner_product_p.bind(state, product))
    factors = 2 * cotangent * coefficients
    adjoint = statevector.add_pauli_sum_p.bind(adjoint, product, factors, *wires, words=words)
    return _added(adjoint, product, -4 * cotangent * mean)


def _var_matrix(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any, adjoint: Any
) -> Any:
    matrix, *wires = operands
    known = equation.params["wires"]
    mean = measurement.expval_matrix_p.bind(state, matrix, *wires, wires=known)
    whole = _plus_adjoint(matrix @ matrix - 2 * mean * matrix)
    return _added(adjoint, _with_operator(state, whole, known, wires), cotangent)


SEEDS: Mapping[str, Seed] = {
    "expval_pauli": _expval_pauli,
    "expval_matrix": _expval_matrix,
    "var_pauli": _var_pauli,
    "var_matrix": _var_matrix,
    "probs": _probs,
    "state": _state,
    "density_matrix": _density_matrix,
}


# --- cotangents of operands -----------------------------------------------------------------------


def _by_word(
    words: Sequence[Any], operands: Sequence[Any], value: Callable[[Any, Sequence[Any]], Any]
) -> Any:
    """A number for each word, by the word and its own wire operands."""
    remaining, values = list(operands), list[Any]()
    for word in words:
        count = sum(wire is None for _, wire in word)
        own, remaining = remaining[:count], remaining[count:]
        values.append(value(word, own))
    return jnp.stack(values)


def _by_coefficients(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any
) -> Any:
    def mean(word: Any, wires: Sequence[Any]) -> Any:
        return measurement.expval_pauli_p.bind(state, jnp.ones(1), *wires, words=(word,))

    return cotangent * _by_word(equation.params["words"], operands[1:], mean)


def _by_coefficients_of_variance(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any
) -> Any:
    """2 c (Re <O S|P S> - <O> <P>) for each word P."""
    coefficients, *wires = operands
    words = equation.params["words"]
    whole = _product(state, coefficients, wires, words)
    mean = jnp.real(statevector.inner_product_p.bind(state, whole))

    def covariance(word: Any, own: Sequence[Any]) -> Any:
        part = _product(state, jnp.ones(1), own, (word,))
        both = jnp.real(statevector.inner_product_p.bind(whole, part))
        alone = jnp.real(statevector.inner_product_p.bind(state, part))
        release_p.bind(part)
        return both - mean * alone

    found = _by_word(words, wires, covariance)
    release_p.bind(whole)
    return 2 * cotangent * found


def _by_matrix(equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any) -> Any:
    _, *wires = operands
    reduced = measurement.density_matrix_p.bind(state, *wires, wires=equation.params["wires"])
    return cotangent * reduced.T


def _by_matrix_of_variance(
    equation: Equation, state: Any, operands: Sequence[Any], cotangent: Any
) -> Any:
    matrix, *wires = operands
    known = equation.params["wires"]
    mean = measurement.expval_matrix_p.bind(state, matrix, *wires, wires=known)
    reduced = measurement.density_matrix_p.bind(state, *wires, wires=known)
    by_matrix = reduced @ matrix + matrix @ reduced - 2 * mean * reduced
    return cotangent * by_matrix.T


BY_OPERAND: Mapping[str, ByOperand] = {
    "expval_pauli": _by_coefficients,
    "expval_matrix": _by_matrix,
    "var_pauli": _by_coefficients_of_variance,
    "var_matrix": _by_matrix_of_variance,
}
"""Measurements whose first classical operand has a cotangent."""
