"""Primitives of lane registers: small registers side by side in the lanes of vectors.

A lane register (`AbstractRegister.lanes`) is what `jax.vmap` makes of a register: `lanes` registers
of the same wires, each with a state of its own, and with a stream of random numbers of its own. It
stands for a few elements of a batch (`primitives.batching`), one after the other; `autodiff.lanes`
makes the body of an element one of these.

Wires are the same in all lanes. Angles, outcomes and what is measured have an axis for the lanes,
in front; so may matrices. Control flow that differs between lanes is *predicated*: a lane that is
not active (`lanes_activate`) is left alone by operations and measurements.
"""

from typing import Any

import numpy as np
from jax.core import AbstractValue, ShapedArray

from diastase.primitives.define import Role
from diastase.primitives.measurement import PauliWord
from diastase.primitives.quantum import AbstractRegister, Wires, define_on_register


def _allocate_abstract_eval(
    first: Any, *, num_wires: int, lanes: int, qnode: str
) -> AbstractRegister:
    return AbstractRegister(lanes=lanes)


def _activate_abstract_eval(register: Any, mask: Any) -> AbstractValue:
    return register


def _gate_abstract_eval(
    register: Any,
    *operands: Any,
    name: str,
    num_parameters: int,
    wires: Wires,
    control_values: tuple[bool, ...],
) -> AbstractValue:
    return register


def _run_abstract_eval(
    register: Any, *parameters: Any, gates: tuple[str, ...], lines: tuple[Any, ...]
) -> AbstractValue:
    return register


def _unitary_abstract_eval(
    register: Any,
    matrix: Any,
    *wire_operands: Any,
    wires: Wires,
    control_values: tuple[bool, ...],
    per_lane: bool,
) -> AbstractValue:
    return register


def _measure_abstract_eval(
    register: Any, *wire_operands: Any, wires: Wires, reset: bool
) -> list[AbstractValue]:
    return [register, ShapedArray((register.lanes,), np.dtype(np.int64))]


def _sample_abstract_eval(
    register: Any, *wire_operands: Any, wires: Wires, shots: Any
) -> ShapedArray:
    return ShapedArray((register.lanes, shots), np.dtype(np.int64))


def _probs_abstract_eval(
    register: Any, *wire_operands: Any, wires: Wires, size: int
) -> ShapedArray:
    return ShapedArray((register.lanes, size), np.dtype(np.float64))


def _state_abstract_eval(register: Any, *, size: int) -> ShapedArray:
    return ShapedArray((register.lanes, size), np.dtype(np.complex128))


def _values_abstract_eval(
    register: Any, *wire_operands: Any, words: tuple[PauliWord, ...]
) -> ShapedArray:
    return ShapedArray((len(words), register.lanes), np.dtype(np.float64))


lanes_allocate_p = define_on_register(
    "lanes_allocate", "QNode", _allocate_abstract_eval, Role.LIFETIME, provided_rules=()
)
"""`first -> register`: all qubits in |0>, all lanes active; the first lane is element `first` of
the batch, as which it draws."""

lanes_activate_p = define_on_register(
    "lanes_activate", "a branch", _activate_abstract_eval, Role.OPERATION, provided_rules=()
)
"""`register, i64[lanes] -> register`: from here on lanes are active where the number is not 0."""

lanes_gate_p = define_on_register(
    "lanes_gate", "a gate", _gate_abstract_eval, Role.OPERATION, provided_rules=()
)
"""`register, *f64[lanes] angles, *wires -> register`: a gate on one or two wires, with controls."""

lanes_run_p = define_on_register(
    "lanes_run", "a gate", _run_abstract_eval, Role.OPERATION, provided_rules=()
)
"""`register, f64[parameters, lanes] -> register`: gates on known wires, in order; no operand where
they have no parameters. `gates` has a line of text for each (`diastase_mlir.gate_runs`), `lines`
the user's line: file, number and function, or None. All is plain, so that programs have keys."""

lanes_unitary_p = define_on_register(
    "lanes_unitary", "a gate", _unitary_abstract_eval, Role.OPERATION, provided_rules=()
)
"""`register, matrix, *wires -> register`: any matrix; where `per_lane`, one for each lane."""

lanes_measure_p = define_on_register(
    "lanes_measure",
    "measure",
    _measure_abstract_eval,
    Role.OUTCOME,
    Role.RANDOM,
    multiple_results=True,
    provided_rules=(),
)
"""`register, *wires -> register, i64[lanes]`: a wire measured; lanes that are not active give 0."""

lanes_sample_p = define_on_register(
    "lanes_sample",
    "a measurement with shots",
    _sample_abstract_eval,
    Role.MEASUREMENT,
    Role.RANDOM,
    provided_rules=(),
)
"""`register, *wires -> i64[lanes, shots]`: packed outcomes."""

lanes_probs_p = define_on_register(
    "lanes_probs", "probs", _probs_abstract_eval, Role.MEASUREMENT, provided_rules=()
)
"""`register, *wires -> f64[lanes, size]`: probabilities; of all wires where none are given."""

lanes_state_p = define_on_register(
    "lanes_state", "state", _state_abstract_eval, Role.MEASUREMENT, provided_rules=()
)
"""`register -> c128[lanes, size]`: all amplitudes."""

lanes_pauli_values_p = define_on_register(
    "lanes_pauli_values", "expval", _values_abstract_eval, Role.MEASUREMENT, provided_rules=()
)
"""`register, *wires -> f64[words, lanes]`: the expectation value of each Pauli word."""
