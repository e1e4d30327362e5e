"""Primitives that act on a quantum register, and the `qnode` primitive around them.

The state is one value, of type `AbstractRegister`, threaded linearly through the equations: each
takes the register and gives the next one, which fixes the order of operations.

Wires are parameters of the equation where they are known (`wires=(0, None)`), and operands where
they are traced: each `None` stands for the next wire operand. Targets come before controls.
Operands: `[register, *angles or matrix, *traced wires]`.

The trap: registers are linear by construction (the capture never uses an old one again); nothing
here can check it.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Primitive
from jax.interpreters import ad, batching

from diastase.primitives.quantum_errors import QuantumTransformError

Wires = tuple[int | None, ...]
"""Known wires; `None` for one that is an operand."""


class AbstractRegister(jax.core.AbstractValue):  # pyright: ignore[reportUntypedBaseClass]
    """The type of a quantum register."""

    mlir_type = "!quantum.register"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRegister)

    def __hash__(self) -> int:
        return hash(AbstractRegister)

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """How jaxprs print it."""
        return "register"

    __repr__ = __str__ = str_short

    def to_tangent_aval(self) -> Any:
        """Registers are never differentiated: rules apply to whole QNodes."""
        raise TypeError("a quantum register has no derivative")


REGISTER = AbstractRegister()
_OUTCOME = jax.core.ShapedArray((), np.dtype(np.bool_))

allocate_p = Primitive("allocate_qubits")
"""A new register, all qubits in |0>; `qnode` is the user's name of what it is for."""
release_p = Primitive("release_qubits")
"""`register ->`: the end of its life."""
release_p.multiple_results = True
gate_p = Primitive("gate")
"""A gate of the gate table, by name, with any number of controls."""
unitary_p = Primitive("unitary")
"""A gate given by its matrix, with any number of controls."""
global_phase_p = Primitive("global_phase")
"""`register, phi -> register`: multiply by exp(-i phi)."""
measure_p = Primitive("measure")
"""A measurement in the computational basis, with collapse: `-> register, outcome`."""
measure_p.multiple_results = True
qnode_p = Primitive("qnode")
"""A QNode's body: classical operands and results; `jaxpr` allocates and releases its register."""
qnode_p.multiple_results = True


@allocate_p.def_abstract_eval
def _allocate_abstract_eval(*, num_wires: int, qnode: str) -> AbstractRegister:
    return REGISTER


@release_p.def_abstract_eval
def _release_abstract_eval(register: Any) -> Sequence[Any]:
    return []


@gate_p.def_abstract_eval
def _gate_abstract_eval(
    register: Any,
    *operands: Any,
    name: str,
    num_parameters: int,
    wires: Wires,
    control_values: tuple[bool, ...],
) -> AbstractRegister:
    return REGISTER


@unitary_p.def_abstract_eval
def _unitary_abstract_eval(
    register: Any, matrix: Any, *wire_operands: Any, wires: Wires, control_values: tuple[bool, ...]
) -> AbstractRegister:
    return REGISTER


@global_phase_p.def_abstract_eval
def _global_phase_abstract_eval(register: Any, phi: Any) -> AbstractRegister:
    return REGISTER


@measure_p.def_abstract_eval
def _measure_abstract_eval(
    register: Any, *wire_operands: Any, wires: Wires, reset: bool, postselect: int | None
) -> Sequence[Any]:
    return [REGISTER, _OUTCOME]


@qnode_p.def_abstract_eval
def _qnode_abstract_eval(
    *operands: Any, jaxpr: ClosedJaxpr, name: str, num_wires: int, device: str
) -> Sequence[Any]:
    return jaxpr.out_avals


def _no_batching(*_: Any, name: str, **__: Any) -> Any:
    raise QuantumTransformError(name=name, transform="jax.vmap")


def _no_differentiation(*_: Any, name: str, **__: Any) -> Any:
    raise QuantumTransformError(name=name, transform="differentiation")


batching.primitive_batchers[qnode_p] = _no_batching
ad.primitive_jvps[qnode_p] = _no_differentiation
