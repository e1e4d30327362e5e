"""The adjoint of a density matrix for what was measured of it.

The adjoint is a vector a: a small change dr of the state changes the loss by a . dr. All that is
measured is an expectation value of the state, so each rule adds the vector of an observable:

    Tr(O r), cotangent c            c O
    Tr(O O r)                       c O O, as a sum of products of words
    probabilities, cotangents c     the diagonal matrix of c, on the wires that were measured
    the state, cotangents c         (c^T + conj c) / 2
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase.autodiff.adjoint.seeds import Measured, by_matrix, means_of_words
from diastase.primitives.measurement import PauliWord
from diastase.primitives.mixed import add_diagonal_p, add_operator_p, add_pauli_words_p

MOST_PRODUCTS = 4096
"""Of words, of which a square is the sum."""


def has_seed(equation: Any) -> bool:
    """Whether there is one: products of words are known, not too many, and so are all wires."""
    name, params = equation.primitive.name, equation.params
    if name == "square_pauli":
        words = params["words"]
        wires = [wire for word in words for _, wire in word]
        return len(words) == 1 or (None not in wires and len(words) ** 2 <= MOST_PRODUCTS)
    return isinstance(params.get("size", 0), int)


def _expval_pauli(of: Measured, adjoint: Any) -> Any:
    coefficients, *wires = of.operands
    return add_pauli_words_p.bind(adjoint, of.cotangent * coefficients, *wires, words=of.words)


def _square_pauli(of: Measured, adjoint: Any) -> Any:
    words, pairs, signs = products(of.words)
    factors = of.cotangent * _of_products(of.operands[0], pairs, signs)
    return add_pauli_words_p.bind(adjoint, factors, words=words)


def _of_operator(of: Measured, adjoint: Any, matrix: Any, operands: Sequence[Any], on: Any) -> Any:
    hermitian = (matrix + jnp.conj(matrix).T).astype(jnp.complex128) / 2
    return add_operator_p.bind(adjoint, hermitian, *operands, wires=on)


def _expval_matrix(of: Measured, adjoint: Any) -> Any:
    matrix, *wires = of.operands
    return _of_operator(of, adjoint, of.cotangent * matrix, wires, of.wires)


def _all_wires(of: Measured) -> tuple[int, ...]:
    return tuple(range(int(of.equation.params["size"]).bit_length() - 1))


def _probs(of: Measured, adjoint: Any) -> Any:
    elements = of.cotangent.astype(jnp.float64)
    on = of.wires or _all_wires(of)
    return add_diagonal_p.bind(adjoint, elements, *of.operands, wires=on)


def _state(of: Measured, adjoint: Any) -> Any:
    return _of_operator(of, adjoint, of.cotangent.T, (), _all_wires(of))


def _density_matrix(of: Measured, adjoint: Any) -> Any:
    return _of_operator(of, adjoint, of.cotangent.T, of.operands, of.wires)


SEEDS: Mapping[str, Callable[[Measured, Any], Any]] = {
    "expval_pauli": _expval_pauli,
    "expval_matrix": _expval_matrix,
    "square_pauli": _square_pauli,
    "probs": _probs,
    "state": _state,
    "density_matrix": _density_matrix,
}


# --- cotangents of operands -----------------------------------------------------------------------


def _by_coefficients(of: Measured) -> Any:
    return of.cotangent * means_of_words(of.state, of.words, of.operands[1:])


def _by_coefficients_of_square(of: Measured) -> Any:
    coefficients = of.operands[0]
    words, pairs, signs = products(of.words)
    means = means_of_words(of.state, words, ()) * signs
    first, second = pairs.T
    found = jnp.zeros_like(coefficients)
    found = found.at[first].add(means * coefficients[second])
    return of.cotangent * found.at[second].add(means * coefficients[first])


BY_OPERAND: Mapping[str, Callable[[Measured], Any]] = {
    "expval_pauli": _by_coefficients,
    "expval_matrix": by_matrix,
    "square_pauli": _by_coefficients_of_square,
}


# --- squares --------------------------------------------------------------------------------------


def products(words: Sequence[PauliWord]) -> tuple[tuple[PauliWord, ...], np.ndarray, np.ndarray]:
    """The words of (sum of c P)^2, the numbers of both factors of each, and its coefficient.

    Factors that anticommute add nothing; of others each pair stands once.
    """
    found, pairs, factors = list[PauliWord](), list[tuple[int, int]](), list[float]()
    for first, one in enumerate(words):
        for second in range(first, len(words)):
            word, phase = _product(one, words[second])
            if phase.real != 0:
                found.append(word)
                pairs.append((first, second))
                factors.append(phase.real * (1 if first == second else 2))
    return tuple(found), np.array(pairs, int).reshape(-1, 2), np.array(factors)


def _of_products(coefficients: Any, pairs: np.ndarray, factors: np.ndarray) -> Any:
    return coefficients[pairs[:, 0]] * coefficients[pairs[:, 1]] * factors


def _product(one: PauliWord, other: PauliWord) -> tuple[PauliWord, complex]:
    """A product of words, and its phase."""
    if one == other:  # also where wires are traced
        return (), 1 + 0j
    letters: dict[Any, str] = {wire: letter for letter, wire in one}
    phases = list[complex]()
    for letter, wire in other:
        own = letters.pop(wire, None)
        if own is None:
            letters[wire] = letter
        elif own != letter:
            letters[wire] = next(iter(set("XYZ") - {own, letter}))
            phases.append(1j if own + letter in ("XY", "YZ", "ZX") else -1j)
    word = tuple((letter, wire) for wire, letter in sorted(letters.items()))
    return word, reduce(complex.__mul__, phases, 1 + 0j)
