"""The engine's C functions: name in the import table -> kernel. The contract with lowering."""

from collections.abc import Callable
from typing import Any

from diastase_engine.call_context import next_uniform
from diastase_engine.density_matrix.gates import arrays, gates
from diastase_engine.density_matrix.readout import linear_algebra, observables, outcomes
from diastase_engine.density_matrix.state import memory
from diastase_engine.density_matrix.sweep import sweep
from diastase_engine.state_vector.gates.gates import check_wires
from diastase_engine.state_vector.measure import outcome_scripts, trajectories
from diastase_engine.state_vector.queue import tape
from diastase_engine.state_vector.queue.memory import num_qubits, state_release
from diastase_engine.threads.loops import use_threads

EXPORTS: dict[str, Callable[..., Any]] = {
    "state_create": memory.state_create,
    "state_release": state_release,
    "state_copy": linear_algebra.state_copy,
    "state_zero": memory.state_zero,
    "half": linear_algebra.half,
    "num_qubits": num_qubits,
    "work_done": linear_algebra.work_done,
    "use_threads": use_threads,
    "gate": gates.gate,
    "controlled_gate": gates.controlled_gate,
    "gate_on_wires": gates.gate_on_wires,
    "controlled_gate_on_wires": gates.controlled_gate_on_wires,
    "gate_run": gates.gate_run,
    "global_phase": gates.global_phase,
    "check_wires": check_wires,
    "unitary": arrays.unitary,
    "diagonal": arrays.diagonal,
    "superoperator": arrays.superoperator,
    "prepare": arrays.prepare,
    "replace": arrays.replace,
    "measure": outcomes.measure,
    "script_begin": outcome_scripts.script_begin,
    "trajectories_begin": outcome_scripts.trajectories_begin,
    "run_members": trajectories.run_members,
    "script_end": outcome_scripts.script_end,
    "script_next": outcome_scripts.script_next,
    "script_weight": outcome_scripts.script_weight,
    "script_is_valid": outcome_scripts.script_is_valid,
    "script_require": outcome_scripts.script_require,
    "state_follow": outcome_scripts.state_follow,
    "sample": outcomes.sample,
    "uniform": next_uniform,
    "probabilities": outcomes.probabilities,
    "amplitudes": observables.amplitudes,
    "density_matrix": observables.density_matrix,
    "expval_pauli": observables.expval_pauli,
    "square_pauli": observables.square_pauli,
    "expval_matrix": observables.expval_matrix,
    "add_pauli_words": observables.add_pauli_words,
    "add_operator": observables.add_operator,
    "add_diagonal": observables.add_diagonal,
    "state_scale_add": linear_algebra.state_scale_add,
    "inner_product": linear_algebra.inner_product,
    "tape_record": sweep.tape_record,
    "tape_differentiated": tape.tape_differentiated,
    "tape_length": tape.tape_length,
    "tape_sweep": sweep.tape_sweep,
}
