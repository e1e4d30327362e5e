"""Primitives that take a register as a vector, for observables that have no direct form.

`copy_register` makes a second register, which its maker releases; the others multiply one by an
operator that is no gate, add one to another, or multiply two. None of them keeps a norm of 1.

The trap: a register that is only read (`source`, `bra`, `ket`) goes on being the current one.
"""

from typing import Any

import numpy as np
from jax.core import AbstractValue, ShapedArray

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.measurement import PauliWord
from diastase.primitives.quantum import INSIDE_A_QNODE, Wires


def _copy_abstract_eval(register: Any, *, blank: bool) -> AbstractValue:
    return register


def _add_scaled_abstract_eval(target: Any, source: Any, factor: Any) -> AbstractValue:
    return target


def _add_pauli_abstract_eval(
    target: Any,
    source: Any,
    coefficients: Any,
    *wire_operands: Any,
    words: tuple[PauliWord, ...],
) -> AbstractValue:
    return target


def _inner_product_abstract_eval(bra: Any, ket: Any) -> ShapedArray:
    return ShapedArray((), np.dtype(np.complex128))


def _sparse_abstract_eval(
    register: Any,
    row_starts: Any,
    columns: Any,
    values: Any,
    *wire_operands: Any,
    wires: Wires,
) -> AbstractValue:
    return register


def _project_abstract_eval(
    register: Any, vector: Any, *wire_operands: Any, wires: Wires
) -> AbstractValue:
    return register


def _define(name: str, abstract_eval: Any, *roles: Role) -> Any:
    return define_primitive(
        name,
        *(roles or (Role.VECTOR,)),
        construct="an observable",
        abstract_eval=abstract_eval,
        multiple_results=False,
        missing_rules=INSIDE_A_QNODE,
        provided_rules=("jvp",),
    )


copy_register_p = _define("copy_register", _copy_abstract_eval)
"""`register -> register`: a second one, of the same amplitudes or, if `blank`, of zeros."""
add_scaled_p = _define("add_scaled", _add_scaled_abstract_eval)
"""`target, source, c128 factor -> target`: `target + factor source`."""
add_pauli_sum_p = _define("add_pauli_sum", _add_pauli_abstract_eval)
"""`target, source, coefficients, *wires -> target`: `target + O source`, O a sum of words."""
inner_product_p = _define("inner_product", _inner_product_abstract_eval)
"""`bra, ket -> c128`."""
apply_sparse_p = _define("apply_sparse", _sparse_abstract_eval, Role.OPERATION)
"""`register, row_starts, columns, c128 values, *wires -> register`: a matrix in CSR form."""
project_on_p = _define("project_on", _project_abstract_eval, Role.OPERATION)
"""`register, c128 vector, *wires -> register`: |v><v| on some wires."""
