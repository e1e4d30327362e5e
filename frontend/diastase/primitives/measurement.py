"""Primitives that read a register without changing it: expectation, variance, probabilities, state.

Observables come in two forms: a sum of Pauli words (`words[k]` with coefficient `k` of the vector
operand), and a matrix on a few wires. Wires are given as in `quantum.py`: known ones as
parameters, `None` for each that is an operand, in order of appearance.
"""

from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive

from diastase.primitives.quantum import Wires

PauliWord = tuple[tuple[str, int | None], ...]
"""`X`, `Y` or `Z` with its wire; the empty word is the identity."""

_REAL = jax.core.ShapedArray((), np.dtype(np.float64))

expval_pauli_p = Primitive("expval_pauli")
"""`register, coefficients, *wires -> f64`: expectation of a sum of Pauli words."""
var_pauli_p = Primitive("var_pauli")
"""Variance of a sum of Pauli words."""
expval_matrix_p = Primitive("expval_matrix")
"""`register, matrix, *wires -> f64`: expectation of a Hermitian matrix."""
var_matrix_p = Primitive("var_matrix")
"""Variance of a Hermitian matrix."""
probs_p = Primitive("probs")
"""`register, *wires -> f64[2^k]`: probabilities of the outcomes on the wires, in their order."""
state_p = Primitive("state")
"""`register -> c128[2^n]`: all amplitudes."""


@expval_pauli_p.def_abstract_eval
@var_pauli_p.def_abstract_eval
def _pauli_abstract_eval(
    register: Any, coefficients: Any, *wire_operands: Any, words: tuple[PauliWord, ...]
) -> jax.core.ShapedArray:
    return _REAL


@expval_matrix_p.def_abstract_eval
@var_matrix_p.def_abstract_eval
def _matrix_abstract_eval(
    register: Any, matrix: Any, *wire_operands: Any, wires: Wires
) -> jax.core.ShapedArray:
    return _REAL


@probs_p.def_abstract_eval
def _probs_abstract_eval(register: Any, *wire_operands: Any, wires: Wires) -> jax.core.ShapedArray:
    return jax.core.ShapedArray((2 ** len(wires),), np.dtype(np.float64))


@state_p.def_abstract_eval
def _state_abstract_eval(register: Any, *, num_wires: int) -> jax.core.ShapedArray:
    return jax.core.ShapedArray((2**num_wires,), np.dtype(np.complex128))
