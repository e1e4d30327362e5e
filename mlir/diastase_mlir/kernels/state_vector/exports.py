"""The engine's C functions: name in the import table -> kernel. The contract with lowering."""

from collections.abc import Callable
from typing import Any

from diastase_mlir.kernels.state_vector import (
    dense,
    expectations,
    gates,
    linear_algebra,
    memory,
    operators,
    outcomes,
    pauli,
    preparation,
    samples,
)

EXPORTS: dict[str, Callable[..., Any]] = {
    "state_create": memory.state_create,
    "state_release": memory.state_release,
    "state_copy": memory.state_copy,
    "num_qubits": memory.num_qubits,
    "gate": gates.gate,
    "controlled_gate": gates.controlled_gate,
    "gate_on_wires": gates.gate_on_wires,
    "controlled_gate_on_wires": gates.controlled_gate_on_wires,
    "global_phase": gates.global_phase,
    "check_wires": gates.check_wires,
    "unitary": dense.unitary,
    "prepare": preparation.prepare,
    "measure": outcomes.measure,
    "sample": samples.sample,
    "probabilities": outcomes.probabilities,
    "amplitudes": outcomes.amplitudes,
    "expval_pauli": expectations.expval_pauli,
    "var_pauli": expectations.var_pauli,
    "expval_matrix": expectations.expval_matrix,
    "var_matrix": expectations.var_matrix,
    "density_matrix": operators.density_matrix,
    "add_pauli_sum": pauli.add_pauli_sum,
    "apply_sparse": operators.apply_sparse,
    "project_on": operators.project_on,
    "state_zero": linear_algebra.state_zero,
    "state_scale_add": linear_algebra.state_scale_add,
    "inner_product": linear_algebra.inner_product,
}
