"""Primitives that read a register without changing it: expectation, variance, probabilities, state.

The length of what `probs` and `state` give is a parameter, as it may be a size known at run time.

Observables come in two forms: a sum of Pauli words (`words[k]` with coefficient `k` of the vector
operand), and a matrix on a few wires. Wires are given as in `quantum.py`: known ones as
parameters, `None` for each that is an operand, in order of appearance.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive

from diastase.primitives.define import Role, define_primitive
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


def _probs_abstract_eval(
    register: Any, *wire_operands: Any, wires: Wires, size: Any
) -> ShapedArray:
    return ShapedArray((size,), np.dtype(np.float64))


def _state_abstract_eval(register: Any, *, size: Any) -> ShapedArray:
    return ShapedArray((size,), np.dtype(np.complex64 if register.single else np.complex128))


def _density_matrix_abstract_eval(register: Any, *wire_operands: Any, wires: Wires) -> ShapedArray:
    return ShapedArray((2 ** len(wires),) * 2, np.dtype(np.complex128))


def _define(
    name: str, construct: str, abstract_eval: Callable[..., ShapedArray], *roles: Role
) -> Primitive:
    return define_primitive(
        name,
        Role.MEASUREMENT,
        *roles,
        construct=construct,
        abstract_eval=abstract_eval,
        multiple_results=False,
        missing_rules=INSIDE_A_QNODE,
        provided_rules=("jvp",),
    )


expval_pauli_p = _define("expval_pauli", "expval", _pauli_abstract_eval, Role.AVERAGE)
"""`register, coefficients, *wires -> f64`: expectation of a sum of Pauli words."""
var_pauli_p = _define("var_pauli", "var", _pauli_abstract_eval)
"""Variance of a sum of Pauli words."""
expval_matrix_p = _define("expval_matrix", "expval", _matrix_abstract_eval, Role.AVERAGE)
"""`register, matrix, *wires -> f64`: expectation of a Hermitian matrix."""
var_matrix_p = _define("var_matrix", "var", _matrix_abstract_eval)
"""Variance of a Hermitian matrix."""
probs_p = _define("probs", "probs", _probs_abstract_eval, Role.AVERAGE)
"""`register, *wires -> f64[size]`: probabilities of the outcomes on the wires, in their order; of
all wires where `wires` is empty."""
state_p = _define("state", "state", _state_abstract_eval)
"""`register -> c128[size]`, or c64: all amplitudes."""
density_matrix_p = _define(
    "density_matrix", "density_matrix", _density_matrix_abstract_eval, Role.AVERAGE
)
"""`register, *wires -> c128[2^k, 2^k]`: the state of some wires, the others traced out."""
