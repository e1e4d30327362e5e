"""The engine's C functions: name in the import table -> kernel. The contract with lowering."""

from collections.abc import Callable
from typing import Any

from diastase_engine.call_context import next_uniform
from diastase_engine.state_vector.adjoint import sweep
from diastase_engine.state_vector.adjoint.device import kernels
from diastase_engine.state_vector.device import (
    diagonals,
    drawing,
    driver,
    groups,
    matrices,
    readout,
    stages,
    vectors,
)
from diastase_engine.state_vector.gates import dense, diagonal, gates, operators
from diastase_engine.state_vector.measure import (
    outcome_scripts,
    outcomes,
    samples,
    trajectories,
)
from diastase_engine.state_vector.noise import channel
from diastase_engine.state_vector.observables import (
    applied_sums,
    expectations,
    linear_algebra,
)
from diastase_engine.state_vector.queue import memory, tape
from diastase_engine.threads.loops import use_threads

EXPORTS: dict[str, Callable[..., Any]] = {
    "state_create": memory.state_create,
    "state_release": memory.state_release,
    "state_copy": memory.state_copy,
    "num_qubits": memory.num_qubits,
    "work_done": memory.work_done,
    "gate": gates.gate,
    "controlled_gate": gates.controlled_gate,
    "gate_on_wires": gates.gate_on_wires,
    "controlled_gate_on_wires": gates.controlled_gate_on_wires,
    "gate_run": gates.gate_run,
    "global_phase": gates.global_phase,
    "check_wires": gates.check_wires,
    "unitary": dense.unitary,
    "diagonal": diagonal.diagonal,
    "prepare": operators.prepare,
    "set_amplitudes": operators.set_amplitudes,
    "measure": outcomes.measure,
    "script_begin": outcome_scripts.script_begin,
    "trajectories_begin": outcome_scripts.trajectories_begin,
    "run_members": trajectories.run_members,
    "kraus": channel.kraus,
    "script_end": outcome_scripts.script_end,
    "script_next": outcome_scripts.script_next,
    "script_weight": outcome_scripts.script_weight,
    "script_is_valid": outcome_scripts.script_is_valid,
    "script_require": outcome_scripts.script_require,
    "state_follow": outcome_scripts.state_follow,
    "sample": samples.sample,
    "uniform": next_uniform,
    "probabilities": outcomes.probabilities,
    "amplitudes": outcomes.amplitudes,
    "expval_pauli": expectations.expval_pauli,
    "var_pauli": expectations.var_pauli,
    "expval_matrix": expectations.expval_matrix,
    "var_matrix": expectations.var_matrix,
    "density_matrix": operators.density_matrix,
    "add_pauli_sum": applied_sums.add_pauli_sum,
    "apply_sparse": operators.apply_sparse,
    "project_on": operators.project_on,
    "state_zero": linear_algebra.state_zero,
    "state_scale_add": linear_algebra.state_scale_add,
    "use_threads": use_threads,
    "inner_product": linear_algebra.inner_product,
    "tape_record": tape.tape_record,
    "tape_differentiated": tape.tape_differentiated,
    "tape_length": tape.tape_length,
    "tape_sweep": sweep.tape_sweep,
}

GPU_EXPORTS: dict[str, Callable[..., Any]] = {
    **EXPORTS,
    "use_gpu": driver.use_gpu,
}
"""Those of the engine of a GPU."""

GRID_KERNELS: dict[str, Callable[..., Any]] = {
    "give_amplitudes": groups.give_amplitudes,
    "project": groups.project,
    "run_stage": stages.run_stage,
    "rotate_words": stages.rotate_words,
    "add_weights": readout.add_weights,
    "add_words": readout.add_words,
    "multiply_all": readout.multiply_all,
    "write_weights": readout.write_weights,
    "fold": readout.fold,
    "add_multiple": vectors.add_multiple,
    "add_products": vectors.add_products,
    "add_applied": vectors.add_applied,
    "undo_stage": kernels.undo_stage,
    "undo_words": kernels.undo_words,
    "add_blocks": kernels.add_blocks,
    "weigh_chunks": drawing.weigh_chunks,
    "find_outcomes": drawing.find_outcomes,
    "apply_matrix": matrices.apply_matrix,
    "add_moments": matrices.add_moments,
    "apply_diagonal": diagonals.apply_diagonal,
}
"""What that launches: `abi.GRIDS`."""
