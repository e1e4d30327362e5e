"""Primitives that take a register as a vector: observables without a direct form, adjoint sweeps.

`copy_register` makes a second register, which its maker releases; others multiply one by an
operator that is no gate, add one to another, or multiply two. None of them keeps a norm of 1. For
adjoint differentiation a register remembers its operations (the *tape*):

    record          register -> register              operations from now on are kept
    tape_length     register -> i64                   numbers that a sweep will give
    sweep           state, adjoint -> f64[size]       undo all operations, on both registers
    set_amplitudes  register, c128[2^n] -> register   whatever it was before

The *adjoint* is a register A such that a small change dS of the state changes the loss by
Re <A|dS>. `sweep` gives the derivatives of the loss by the parameters of all operations on the
tape, in the order in which these were executed:

    gate, global_phase           a number for each parameter
    unitary, diagonal, prepare   where `differentiated`: for each element, in the array's order, the
                                 derivatives by its real and by its imaginary part; else nothing

After these, `size` is filled with zeros. Nobody may look at either register afterwards. The trap:
any other register that is only read (`source`, `bra`, `ket`) goes on being the current one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.core import AbstractValue, ShapedArray
from jax.extend.core import Primitive

from diastase.primitives.define import Role
from diastase.primitives.measurement import PauliWord
from diastase.primitives.quantum import Wires, define_on_register


def _copy_abstract_eval(register: Any, *, blank: bool) -> AbstractValue:
    return register


def _add_scaled_abstract_eval(target: Any, source: Any, factor: Any) -> AbstractValue:
    return target


def _add_pauli_abstract_eval(
    target: Any, source: Any, coefficients: Any, *wire_operands: Any, words: tuple[PauliWord, ...]
) -> AbstractValue:
    return target


def _inner_product_abstract_eval(bra: Any, ket: Any) -> ShapedArray:
    return ShapedArray((), np.dtype(np.complex128))


def _sparse_abstract_eval(
    register: Any, row_starts: Any, columns: Any, values: Any, *wire_operands: Any, wires: Wires
) -> AbstractValue:
    return register


def _project_abstract_eval(
    register: Any, vector: Any, *wire_operands: Any, wires: Wires
) -> AbstractValue:
    return register


copy_register_p = define_on_register(
    "copy_register", "an observable", _copy_abstract_eval, Role.VECTOR
)
"""`register -> register`: a second one, of the same amplitudes or, if `blank`, of zeros."""
add_scaled_p = define_on_register(
    "add_scaled", "an observable", _add_scaled_abstract_eval, Role.VECTOR
)
"""`target, source, c128 factor -> target`: `target + factor source`."""
add_pauli_sum_p = define_on_register(
    "add_pauli_sum", "an observable", _add_pauli_abstract_eval, Role.VECTOR
)
"""`target, source, coefficients, *wires -> target`: `target + O source`, O a sum of words."""
inner_product_p = define_on_register(
    "inner_product", "an observable", _inner_product_abstract_eval, Role.VECTOR
)
"""`bra, ket -> c128`."""
apply_sparse_p = define_on_register(
    "apply_sparse", "an observable", _sparse_abstract_eval, Role.OPERATION
)
"""`register, row_starts, columns, c128 values, *wires -> register`: a matrix in CSR form."""
project_on_p = define_on_register(
    "project_on", "an observable", _project_abstract_eval, Role.OPERATION
)
"""`register, c128 vector, *wires -> register`: |v><v| on some wires."""


def _record_abstract_eval(register: Any) -> AbstractValue:
    return register


def _length_abstract_eval(register: Any) -> ShapedArray:
    return ShapedArray((), np.dtype(np.int64))


def _sweep_abstract_eval(state: Any, adjoint: Any, *, size: Any) -> ShapedArray:
    return ShapedArray((size,), np.dtype(np.float64))


def _set_abstract_eval(register: Any, amplitudes: Any) -> AbstractValue:
    return register


def _define_for_sweep(name: str, abstract_eval: Callable[..., Any]) -> Primitive:
    return define_on_register(name, "a derivative", abstract_eval, Role.VECTOR, provided_rules=())


record_p = _define_for_sweep("record", _record_abstract_eval)
tape_length_p = _define_for_sweep("tape_length", _length_abstract_eval)
sweep_p = _define_for_sweep("sweep", _sweep_abstract_eval)
set_amplitudes_p = _define_for_sweep("set_amplitudes", _set_abstract_eval)
