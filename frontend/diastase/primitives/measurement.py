"""Primitives that read a register without changing it: expectation, variance, probabilities, state.

The length of what `probs` and `state` give is a parameter, as it may be a size known at run time.

Observables come in two forms: a sum of Pauli words (`words[k]` with coefficient `k` of the vector
operand), and a matrix on a few wires. Wires are given as in `quantum.py`: known ones as
parameters, `None` for each that is an operand, in order of appearance.
"""

from typing import Any

import numpy as np
from jax.core import ShapedArray

from diastase.primitives.define import Role
from diastase.primitives.quantum import IN_LANES, Wires, define_on_register

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
    shape = (size, size) if register.mixed else (size,)
    return ShapedArray(shape, np.dtype(np.complex64 if register.single else np.complex128))


def _density_matrix_abstract_eval(register: Any, *wire_operands: Any, wires: Wires) -> ShapedArray:
    return ShapedArray((2 ** len(wires),) * 2, np.dtype(np.complex128))


expval_pauli_p = define_on_register(
    "expval_pauli",
    "expval",
    _pauli_abstract_eval,
    Role.MEASUREMENT,
    Role.AVERAGE,
    provided_rules=IN_LANES,
)
"""`register, coefficients, *wires -> f64`: expectation of a sum of Pauli words."""
var_pauli_p = define_on_register(
    "var_pauli", "var", _pauli_abstract_eval, Role.MEASUREMENT, provided_rules=IN_LANES
)
"""Variance of a sum of Pauli words."""
expval_matrix_p = define_on_register(
    "expval_matrix",
    "expval",
    _matrix_abstract_eval,
    Role.MEASUREMENT,
    Role.AVERAGE,
)
"""`register, matrix, *wires -> f64`: expectation of a Hermitian matrix."""
var_matrix_p = define_on_register("var_matrix", "var", _matrix_abstract_eval, Role.MEASUREMENT)
"""Variance of a Hermitian matrix."""
probs_p = define_on_register(
    "probs", "probs", _probs_abstract_eval, Role.MEASUREMENT, Role.AVERAGE, provided_rules=IN_LANES
)
"""`register, *wires -> f64[size]`: probabilities of the outcomes on the wires, in their order; of
all wires where `wires` is empty."""
state_p = define_on_register(
    "state", "state", _state_abstract_eval, Role.MEASUREMENT, provided_rules=IN_LANES
)
"""`register -> c128[size]`, or c64: all amplitudes; of a density matrix `[size, size]`."""
density_matrix_p = define_on_register(
    "density_matrix",
    "density_matrix",
    _density_matrix_abstract_eval,
    Role.MEASUREMENT,
    Role.AVERAGE,
)
"""`register, *wires -> c128[2^k, 2^k]`: the state of some wires, the others traced out."""
