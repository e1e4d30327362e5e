"""Primitives of adjoint differentiation: a register that remembers, and the sweep back through it.

    record          register -> register              operations from now on are kept (the *tape*)
    tape_length     register -> i64                   numbers that a sweep will give
    sweep           state, adjoint -> f64[size]       undo all operations, on both registers
    set_amplitudes  register, c128[2^n] -> register   whatever it was before

The *adjoint* is a register A such that a small change dS of the state changes the loss by
Re <A|dS>. `sweep` gives the derivatives of the loss by the parameters of all operations on the
tape, in the order in which these were executed:

    gate, global_phase           a number for each parameter
    unitary, diagonal, prepare   where `differentiated`: for each element, in the array's order, the
                                 derivatives by its real and by its imaginary part; else nothing

After these, `size` is filled with zeros. Nobody may look at either register afterwards.
"""

from typing import Any

import numpy as np
from jax.core import AbstractValue, ShapedArray

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.quantum import INSIDE_A_QNODE


def _record_abstract_eval(register: Any) -> AbstractValue:
    return register


def _length_abstract_eval(register: Any) -> ShapedArray:
    return ShapedArray((), np.dtype(np.int64))


def _sweep_abstract_eval(state: Any, adjoint: Any, *, size: Any) -> ShapedArray:
    return ShapedArray((size,), np.dtype(np.float64))


def _set_abstract_eval(register: Any, amplitudes: Any) -> AbstractValue:
    return register


def _define(name: str, abstract_eval: Any) -> Any:
    return define_primitive(
        name,
        Role.VECTOR,
        construct="a derivative",
        abstract_eval=abstract_eval,
        multiple_results=False,
        missing_rules=INSIDE_A_QNODE,
    )


record_p = _define("record", _record_abstract_eval)
tape_length_p = _define("tape_length", _length_abstract_eval)
sweep_p = _define("sweep", _sweep_abstract_eval)
set_amplitudes_p = _define("set_amplitudes", _set_abstract_eval)
