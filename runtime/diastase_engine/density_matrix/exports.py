"""The C functions of density matrices: name in the import table -> kernel.

Those of a state vector have the same names and do the same, where both can; what is of scripts and
random numbers alone is the same function.
"""

from collections.abc import Callable
from typing import Any

from diastase_engine.call_context import next_uniform
from diastase_engine.density_matrix import (
    gates,
    measure,
    memory,
    observables,
    preparations,
    sweep,
)
from diastase_engine.state_vector.measure import outcome_scripts, trajectories
from diastase_engine.state_vector.queue import memory as state_vectors
from diastase_engine.state_vector.queue import tape
from diastase_engine.state_vector.state import parallel

EXPORTS: dict[str, Callable[..., Any]] = {
    "state_create": memory.state_create,
    "state_release": state_vectors.state_release,
    "state_copy": memory.state_copy,
    "state_zero": memory.state_zero,
    "half": memory.half,
    "num_qubits": memory.num_qubits,
    "work_done": memory.work_done,
    "gate": gates.gate,
    "controlled_gate": gates.controlled_gate,
    "gate_on_wires": gates.gate_on_wires,
    "controlled_gate_on_wires": gates.controlled_gate_on_wires,
    "gate_run": gates.gate_run,
    "global_phase": gates.global_phase,
    "check_wires": gates.check_wires,
    "unitary": gates.unitary,
    "diagonal": gates.diagonal,
    "superoperator": gates.superoperator,
    "prepare": preparations.prepare,
    "replace": preparations.replace,
    "measure": measure.measure,
    "script_begin": outcome_scripts.script_begin,
    "trajectories_begin": outcome_scripts.trajectories_begin,
    "run_members": trajectories.run_members,
    "script_end": outcome_scripts.script_end,
    "script_next": outcome_scripts.script_next,
    "script_weight": outcome_scripts.script_weight,
    "script_is_valid": outcome_scripts.script_is_valid,
    "script_require": outcome_scripts.script_require,
    "state_follow": outcome_scripts.state_follow,
    "sample": measure.sample,
    "uniform": next_uniform,
    "probabilities": measure.probabilities,
    "amplitudes": measure.amplitudes,
    "density_matrix": measure.density_matrix,
    "expval_pauli": observables.expval_pauli,
    "square_pauli": observables.square_pauli,
    "expval_matrix": observables.expval_matrix,
    "add_pauli_words": observables.add_pauli_words,
    "add_operator": observables.add_operator,
    "add_diagonal": observables.add_diagonal,
    "state_scale_add": observables.state_scale_add,
    "inner_product": observables.inner_product,
    "use_threads": parallel.use_threads,
    "tape_record": tape.tape_record,
    "tape_differentiated": tape.tape_differentiated,
    "tape_length": tape.tape_length,
    "tape_sweep": sweep.tape_sweep,
}
