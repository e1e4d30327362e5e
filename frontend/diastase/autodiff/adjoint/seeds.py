"""The adjoint of a state for what was measured of it: where adjoint differentiation starts.

The adjoint A of a state S for a loss L: a small change dS changes L by Re <A|dS>. Each rule adds
what a measurement contributes to the adjoint collected so far. `BY_OPERAND` gives the cotangent of
a measurement's first operand, coefficients or a matrix, where it has one.

    <S|O|S>, cotangent c            A = 2 c O S
    probabilities, cotangents c     A = 2 c[i] S, on the wires that were measured
    the state, cotangents c         A = conj(c)
    a density matrix                A = 2 O S, with O = (c^T + conj c) / 2
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from diastase.primitives import measurement, statevector
from diastase.primitives.quantum import diagonal_p, release_p, unitary_p
from diastase.primitives.statevector import set_amplitudes_p

Equation = Any


@dataclass(frozen=True)
class Measured:
    """A measurement of a state, and the cotangent of its result."""

    equation: Equation
    state: Any
    operands: Sequence[Any]
    """Classical: coefficients or a matrix, where it has one, then wires."""
    cotangent: Any

    @property
    def wires(self) -> Any:
        """The wires that are known, with None for an operand."""
        return self.equation.params["wires"]

    @property
    def words(self) -> Any:
        """The Pauli words of an observable."""
        return self.equation.params["words"]


def _added(adjoint: Any, copy: Any, factor: Any) -> Any:
    adjoint = statevector.add_scaled_p.bind(adjoint, copy, jnp.asarray(factor, jnp.complex128))
    release_p.bind(copy)
    return adjoint


def _copy(state: Any, blank: bool = False) -> Any:
    return statevector.copy_register_p.bind(state, blank=blank)


def _with_operator(of: Measured, matrix: Any, wires: Sequence[Any]) -> Any:
    """A copy of the state, multiplied by a matrix that need not be unitary."""
    matrix = jnp.asarray(matrix, jnp.complex128)
    return unitary_p.bind(_copy(of.state), matrix, *wires, wires=of.wires, control_values=())


def _plus_adjoint(matrix: Any) -> Any:
    return matrix + jnp.conj(matrix).T


def _expval_pauli(of: Measured, adjoint: Any) -> Any:
    coefficients, *wires = of.operands
    factors = 2 * of.cotangent * coefficients
    return statevector.add_pauli_sum_p.bind(adjoint, of.state, factors, *wires, words=of.words)


def _expval_matrix(of: Measured, adjoint: Any) -> Any:
    matrix, *wires = of.operands
    return _added(adjoint, _with_operator(of, _plus_adjoint(matrix), wires), of.cotangent)


def _with_amplitudes(of: Measured, amplitudes: Any, adjoint: Any) -> Any:
    copy = _copy(of.state, blank=True)
    return _added(adjoint, set_amplitudes_p.bind(copy, amplitudes.astype(jnp.complex128)), 1)


def _probs(of: Measured, adjoint: Any) -> Any:
    if not of.wires:
        amplitudes = measurement.state_p.bind(of.state, size=of.equation.params["size"])
        return _with_amplitudes(of, 2 * of.cotangent * amplitudes, adjoint)
    elements = jnp.asarray(2 * of.cotangent, jnp.complex128)
    copy = diagonal_p.bind(
        _copy(of.state), elements, *of.operands, wires=of.wires, control_values=()
    )
    return _added(adjoint, copy, 1)


def _state(of: Measured, adjoint: Any) -> Any:
    return _with_amplitudes(of, jnp.conj(of.cotangent), adjoint)


def _density_matrix(of: Measured, adjoint: Any) -> Any:
    observable = of.cotangent.T + jnp.conj(of.cotangent)
    return _added(adjoint, _with_operator(of, observable, of.operands), 1)


def _product(state: Any, coefficients: Any, wires: Sequence[Any], words: Any) -> Any:
    """A register with the state multiplied by a sum of words; to be released."""
    blank = _copy(state, blank=True)
    return statevector.add_pauli_sum_p.bind(blank, state, coefficients, *wires, words=words)


def _var_pauli(of: Measured, adjoint: Any) -> Any:
    """A = 2 c (O O - 2 <O> O) S."""
    coefficients, *wires = of.operands
    product = _product(of.state, coefficients, wires, of.words)
    mean = jnp.real(statevector.inner_product_p.bind(of.state, product))
    factors = 2 * of.cotangent * coefficients
    adjoint = statevector.add_pauli_sum_p.bind(adjoint, product, factors, *wires, words=of.words)
    return _added(adjoint, product, -4 * of.cotangent * mean)


def _var_matrix(of: Measured, adjoint: Any) -> Any:
    matrix, *wires = of.operands
    mean = measurement.expval_matrix_p.bind(of.state, matrix, *wires, wires=of.wires)
    whole = _plus_adjoint(matrix @ matrix - 2 * mean * matrix)
    return _added(adjoint, _with_operator(of, whole, wires), of.cotangent)


SEEDS: Mapping[str, Callable[[Measured, Any], Any]] = {
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


def means_of_words(state: Any, words: Sequence[Any], operands: Sequence[Any]) -> Any:
    """The expectation value of each word."""

    def mean(word: Any, wires: Sequence[Any]) -> Any:
        return measurement.expval_pauli_p.bind(state, jnp.ones(1), *wires, words=(word,))

    return _by_word(words, operands, mean)


def _by_coefficients(of: Measured) -> Any:
    return of.cotangent * means_of_words(of.state, of.words, of.operands[1:])


def _by_coefficients_of_variance(of: Measured) -> Any:
    """2 c (Re <O S|P S> - <O> <P>) for each word P."""
    coefficients, *wires = of.operands
    whole = _product(of.state, coefficients, wires, of.words)
    mean = jnp.real(statevector.inner_product_p.bind(of.state, whole))

    def covariance(word: Any, own: Sequence[Any]) -> Any:
        part = _product(of.state, jnp.ones(1), own, (word,))
        both = jnp.real(statevector.inner_product_p.bind(whole, part))
        alone = jnp.real(statevector.inner_product_p.bind(of.state, part))
        release_p.bind(part)
        return both - mean * alone

    found = _by_word(of.words, wires, covariance)
    release_p.bind(whole)
    return 2 * of.cotangent * found


def by_matrix(of: Measured) -> Any:
    """That of the matrix of an expectation value."""
    _, *wires = of.operands
    return of.cotangent * measurement.density_matrix_p.bind(of.state, *wires, wires=of.wires).T


def _by_matrix_of_variance(of: Measured) -> Any:
    matrix, *wires = of.operands
    mean = measurement.expval_matrix_p.bind(of.state, matrix, *wires, wires=of.wires)
    reduced = measurement.density_matrix_p.bind(of.state, *wires, wires=of.wires)
    by_matrix = reduced @ matrix + matrix @ reduced - 2 * mean * reduced
    return of.cotangent * by_matrix.T


BY_OPERAND: Mapping[str, Callable[[Measured], Any]] = {
    "expval_pauli": _by_coefficients,
    "expval_matrix": by_matrix,
    "var_pauli": _by_coefficients_of_variance,
    "var_matrix": _by_matrix_of_variance,
}
"""Measurements whose first classical operand has a cotangent."""
