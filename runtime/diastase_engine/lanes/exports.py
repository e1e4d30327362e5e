"""The engine's C functions: name in the import table -> kernel. The contract with lowering."""

from collections.abc import Callable
from typing import Any

from diastase_engine.lanes import gates, measure, memory, readout, runs, samples, unitaries
from diastase_engine.lanes.device import kernels
from diastase_engine.state_vector.device import driver
from diastase_engine.state_vector.gates.gates import check_wires
from diastase_engine.state_vector.measure.outcome_scripts import script_end
from diastase_engine.state_vector.queue.memory import num_qubits, state_release
from diastase_engine.threads.loops import use_threads

EXPORTS: dict[str, Callable[..., Any]] = {
    "state_create": memory.state_create,
    "state_release": state_release,
    "num_qubits": num_qubits,
    "use_threads": use_threads,
    "script_end": script_end,
    "check_wires": check_wires,
    "activate": memory.activate,
    "gate": gates.gate,
    "gate_run": runs.gate_run,
    "unitary": unitaries.unitary,
    "measure": measure.measure,
    "sample": samples.sample,
    "probabilities": readout.probabilities,
    "amplitudes": readout.amplitudes,
    "pauli_values": readout.pauli_values,
}

GPU_EXPORTS: dict[str, Callable[..., Any]] = {**EXPORTS, "use_gpu": driver.use_gpu}
"""Those of the engine of a GPU."""

GRID_KERNELS: dict[str, Callable[..., Any]] = {
    "begin_lanes_there": kernels.begin_lanes_there,
    "sweep_lanes": kernels.sweep_lanes,
    "weigh_lanes": kernels.weigh_lanes,
    "add_lane_words": kernels.add_lane_words,
    "add_outcomes": kernels.add_outcomes,
}
"""What that launches: `abi.LANE_GRIDS`."""
