"""Primitives that only density matrices have (`AbstractRegister.mixed`).

A density matrix is kept as the real vector of its expectation values of Pauli words,
r[P] = Tr(P rho). Whatever is linear in rho and keeps it Hermitian is a real matrix in this basis, a
*transfer matrix*: R[i, j] = 2^-k Tr(P_i E(P_j)), its digits I, X, Y, Z = 0 to 3, those of the first
wire the most significant. It preserves the trace if its first row is (1, 0, …, 0).

A derivative wire has one bit, not two (`DERIVATIVE_WIRE`), so a matrix on both kinds of wires has
as many rows as the product of 4s and 2s.

The *adjoint* of a sweep back is a register that holds a vector a, such that a small change dr of
the state changes the loss by a . dr; `add_pauli_words`, `add_operator` and `add_diagonal` add to it
the vector of which the product with a state is an expectation value.
"""

from typing import Any

import numpy as np
from jax.core import AbstractValue, ShapedArray

from diastase.primitives.define import Role
from diastase.primitives.measurement import PauliWord
from diastase.primitives.quantum import Wires, define_on_register


def _superoperator_abstract_eval(
    register: Any,
    matrix: Any,
    *wire_operands: Any,
    wires: Wires,
    construct: str,
    checked: bool,
    differentiated: bool = False,
) -> AbstractValue:
    return register


def _replace_abstract_eval(
    register: Any, matrix: Any, *wire_operands: Any, wires: Wires, differentiated: bool = False
) -> AbstractValue:
    return register


def _half_abstract_eval(register: Any, *, which: int) -> AbstractValue:
    return register


def _words_abstract_eval(
    adjoint: Any, coefficients: Any, *wire_operands: Any, words: tuple[PauliWord, ...]
) -> AbstractValue:
    return adjoint


def _operator_abstract_eval(
    adjoint: Any, array: Any, *wire_operands: Any, wires: Wires
) -> AbstractValue:
    return adjoint


def _square_abstract_eval(
    register: Any, coefficients: Any, *wire_operands: Any, words: tuple[PauliWord, ...]
) -> ShapedArray:
    return ShapedArray((), np.dtype(np.float64))


superoperator_p = define_on_register(
    "superoperator",
    "a channel",
    _superoperator_abstract_eval,
    Role.OPERATION,
    Role.CHANNEL,
    Role.RECORDED,
    Role.OF_ARRAY,
)
"""`register, f64 matrix, *wires -> register`: a transfer matrix; an error, where `checked`, unless
it preserves the trace. `construct` is what errors call it; `differentiated` as for `unitary_p`: a
sweep gives one number for each element."""

replace_p = define_on_register(
    "replace",
    "QubitDensityMatrix",
    _replace_abstract_eval,
    Role.OPERATION,
    Role.RECORDED,
    Role.OF_ARRAY,
)
"""`register, c128 matrix, *wires -> register`: trace these wires out, and put this density matrix
there. `differentiated`: for each element derivatives by its real and by its imaginary part."""

half_p = define_on_register("half", "a derivative", _half_abstract_eval, Role.VECTOR)
"""`register -> register`: a second one, with one derivative wire less: that half of this register
in which its first derivative wire is `which`. Its maker releases it."""

square_pauli_p = define_on_register(
    "square_pauli", "var", _square_abstract_eval, Role.MEASUREMENT, Role.AVERAGE
)
"""`register, coefficients, *wires -> f64`: Tr(O O rho) for a sum O of Pauli words."""

add_pauli_words_p = define_on_register(
    "add_pauli_words", "a derivative", _words_abstract_eval, Role.VECTOR, provided_rules=()
)
"""`adjoint, coefficients, *wires -> adjoint`: for the expectation of a sum of Pauli words."""

add_operator_p = define_on_register(
    "add_operator", "a derivative", _operator_abstract_eval, Role.VECTOR, provided_rules=()
)
"""`adjoint, c128 matrix, *wires -> adjoint`: for the expectation of a Hermitian matrix."""

add_diagonal_p = define_on_register(
    "add_diagonal", "a derivative", _operator_abstract_eval, Role.VECTOR, provided_rules=()
)
"""`adjoint, f64 elements, *wires -> adjoint`: for that of a diagonal one; all wires if none."""
