"""Passes on circuits: what a user asks for of one QNode, or of all circuits of a program.

They see gates with the qubits that they act on as data flow (`circuit.py`), and never change what a
program computes. A pass is a file, registered by name (`registry.py`); `circuit_modules` runs those
that a QNode asks for.
"""

from diastase_mlir.passes.circuits import (
    cancel_inverses,
    combine_global_phases,
    disentangle_cnot,
    disentangle_swap,
    merge_rotations,
)
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.errors import NotAQNodeError
from diastase_mlir.passes.circuits.gates import Gate, New, gate_before
from diastase_mlir.passes.circuits.registry import (
    PASSES,
    PassCall,
    has_pass,
    pass_call,
    pass_calls,
    register_pass,
)

BUILT_IN = (
    cancel_inverses, merge_rotations, combine_global_phases, disentangle_cnot, disentangle_swap,
)  # fmt: skip
"""Imported so that they register themselves."""

__all__ = [
    "BUILT_IN",
    "PASSES",
    "Circuit",
    "Gate",
    "New",
    "NotAQNodeError",
    "PassCall",
    "gate_before",
    "has_pass",
    "pass_call",
    "pass_calls",
    "register_pass",
]
