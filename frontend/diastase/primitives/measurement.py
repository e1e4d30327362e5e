"""Primitives that read a register without changing it: expectation, variance, probabilities, state.

Observables come in two forms: a sum of Pauli words (`words[k]` with coefficient `k` of the vector
operand), and a matrix on a few wires. Wires are given as in `quantum.py`: known ones as
parameters, `None` for each that is an operand, in order of appearance.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive

from diastase.primitives.define import define_primitive
from diastase.primitives.quantum import INSIDE_A_QNODE, Wires

PauliWord = tuple[tuple[str, int | None], ...]
"""`X`, `Y` or `Z` with its wire; the empty word is the identity."""


def _pauli_abstract_eval(
    register: Any, coefficients: Any, *wire_operands: Any, words: tuple[PauliWord, ...]
) -> ShapedArray:
    return ShapedArray((), np.dtype(np.float64))


def _matrix_abstract_eval(
    register: Any, matrix: Any, *wire_operands: Any, wires: Wires
) -> ShapedArray:
    return ShapedArray((), np.dtype(np.float64))


def _probs_abstract_eval(register: Any, *wire_operands: Any, wires: Wires) -> ShapedArray:
    return ShapedArray((2 ** len(wires),), np.dtype(np.float64))


def _state_abstract_eval(register: Any, *, num_wires: int) -> ShapedArray:
    return ShapedArray((2**num_wires,), np.dtype(np.complex128))


def _define(name: str, construct: str, abstract_eval: Callable[..., ShapedArray]) -> Primitive:
    return define_primitive(
        name,
        construct=construct,
        abstract_eval=abstract_eval,
        multiple_results=False,
        missing_rules=INSIDE_A_QNODE,
    )


expval_pauli_p = _define("expval_pauli", "expval", _pauli_abstract_eval)
"""`register, coefficients, *wires -> f64`: expectation of a sum of Pauli words."""
var_pauli_p = _define("var_pauli", "var", _pauli_abstract_eval)
"""Variance of a sum of Pauli words."""
expval_matrix_p = _define("expval_matrix", "expval", _matrix_abstract_eval)
"""`register, matrix, *wires -> f64`: expectation of a Hermitian matrix."""
var_matrix_p = _define("var_matrix", "var", _matrix_abstract_eval)
"""Variance of a Hermitian matrix."""
probs_p = _define("probs", "probs", _probs_abstract_eval)
"""`register, *wires -> f64[2^k]`: probabilities of the outcomes on the wires, in their order."""
state_p = _define("state", "state", _state_abstract_eval)
"""`register -> c128[2^n]`: all amplitudes."""
