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
    loop_boundary,
    merge_rotations,
    parity_synth,
)
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.errors import NotAQNodeError, UnsuitableCircuitError
from diastase_mlir.passes.circuits.gates import Gate, New, gate_before
from diastase_mlir.passes.circuits.pauli_products import (
    clifford_frames,
    ppr_to_mbqc,
    ppr_to_ppm,
    reduce_t_depth,
    to_ppr,
)
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
    loop_boundary, parity_synth, to_ppr, clifford_frames, reduce_t_depth, ppr_to_ppm, ppr_to_mbqc,
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
    "UnsuitableCircuitError",
    "gate_before",
    "has_pass",
    "pass_call",
    "pass_calls",
    "register_pass",
]
