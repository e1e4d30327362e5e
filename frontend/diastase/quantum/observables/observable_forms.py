"""The form in which an observable is measured.

In comes an observable, which `terms_of` takes apart. Terms of Pauli letters are collected into one
`PauliSum`, so a whole Hamiltonian is one call of the engine; small matrices are written in letters,
too. A matrix by itself stays one. The rest are applied to copies of the register: `Mixed`.

The trap: a Hamiltonian whose coefficients are one traced vector is used as it is; taken apart, it
would be as many equations as it has terms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from pennylane import ops

from diastase.capture.pennylane_compat import describe
from diastase.quantum.observables.observable_factors import Matrix, Term, is_complex, is_traced
from diastase.quantum.observables.observables import terms_of
from diastase.quantum.observables.pauli_words import PauliSum, collected, in_letters, word_of
from diastase.quantum.observables.refusals import unsupported
from diastase.quantum.wires.wires import WireMap, as_dtype


@dataclass(frozen=True)
class Mixed:
    """Pauli words, and terms that are applied to copies of the register."""

    words: PauliSum
    terms: tuple[Term, ...]


def measured_form(observable: Any, wires: WireMap) -> PauliSum | Matrix | Mixed:
    """The form in which an observable is measured."""
    linear = _linear_combination(observable, wires)
    if linear is not None:
        return linear
    terms = terms_of(observable, wires)
    matrix = _matrix_of(terms, observable)
    if matrix is not None:
        return matrix
    words: list[Term] = []
    others: list[Term] = []
    for term in terms:
        in_words = in_letters(term)
        if in_words is None:
            others.append(term)
        else:
            words.extend(in_words)
    pauli = collected(words, describe(observable))
    return Mixed(pauli, tuple(others)) if others else pauli


def _matrix_of(terms: Sequence[Term], observable: Any) -> Matrix | None:
    """The only matrix that an observable is."""
    if len(terms) != 1 or len(terms[0].factors) != 1:
        return None
    (factor,) = terms[0].factors
    if not isinstance(factor, Matrix) or is_traced(terms[0].coefficient) or terms[0].scale != 1:
        return None
    if not factor.is_hermitian:
        raise unsupported(observable, "is not Hermitian, or not known to be")
    return factor


def _linear_combination(observable: Any, wires: WireMap) -> PauliSum | None:
    """A Hamiltonian whose coefficients are one traced vector: used as it is, never taken apart."""
    if not isinstance(observable, ops.LinearCombination):
        return None
    coefficients, operators = observable.coeffs, observable.ops
    if not is_traced(coefficients) or coefficients.ndim != 1:
        return None
    if not jnp.issubdtype(coefficients.dtype, jnp.floating):
        return None
    found = [terms_of(operator, wires) for operator in operators]
    if any(len(terms) != 1 or not terms[0].is_word for terms in found):
        return None
    words = [word_of(terms[0]) for terms in found]
    if any(is_traced(word.coefficient) or is_complex(word.scale) for word in words):
        return None
    factors = np.array([complex(word.scale).real for word in words])
    vector = as_dtype(coefficients, jnp.float64)
    scaled = vector if np.all(factors == 1) else vector * factors
    return PauliSum.of(scaled, words)
