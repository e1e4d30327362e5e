"""Passes on circuits: decorators of QNodes, and what a pass of one's own is written with.

    @qjit
    @diastase.passes.merge_rotations        # runs second
    @diastase.passes.cancel_inverses        # runs first
    @qml.qnode(device)
    def circuit(x): ...

The QNode stays what it is in Python: passes do nothing outside of compiled functions. `qml.draw`
and `f.mlir` of the compiled function show what they made of it.
`docs/adding-a-pass.md` shows how to write a pass of one's own; what that takes is imported here
when it is asked for. `values` has arithmetic on angles, which may be known only when the program
runs.
"""

from typing import TYPE_CHECKING, Any

import diastase_mlir
from diastase.namespace.lazy_names import public_names, unknown_name
from diastase.passes.decorators import (
    apply_pass,
    apply_pass_plugin,
    pipeline,
)
from diastase.passes.into_gates import (
    graph_decomposition,
    gridsynth,
    ions_decomposition,
)
from diastase.passes.of_gates import (
    cancel_inverses,
    combine_global_phases,
    disentangle_cnot,
    disentangle_swap,
    loop_boundary,
    merge_rotations,
    parity_synth,
)
from diastase.passes.of_measurements import (
    diagonalize_measurements,
    measurements_from_samples,
    split_non_commuting,
    split_to_single_terms,
)
from diastase.passes.pauli_products import (
    commute_ppr,
    decompose_arbitrary_ppr,
    merge_ppr_ppm,
    ppm_compilation,
    ppm_specs,
    ppr_to_mbqc,
    ppr_to_ppm,
    reduce_t_depth,
    to_ppr,
)
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum.passes import plugins, table
    from diastase.quantum.passes.plugins import Pass, PassPlugin
    from diastase_mlir import Circuit, Gate, New, gate_before, register_pass
    from diastase_mlir import circuit_values as values
else:
    plugins = LazyModule("diastase.quantum.passes.plugins")
    table = LazyModule("diastase.quantum.passes.table")

__all__ = [
    "Circuit",
    "Gate",
    "New",
    "Pass",
    "PassPlugin",
    "apply_pass",
    "apply_pass_plugin",
    "cancel_inverses",
    "combine_global_phases",
    "commute_ppr",
    "decompose_arbitrary_ppr",
    "diagonalize_measurements",
    "disentangle_cnot",
    "disentangle_swap",
    "gate_before",
    "graph_decomposition",
    "gridsynth",
    "ions_decomposition",
    "loop_boundary",
    "measurements_from_samples",
    "merge_ppr_ppm",
    "merge_rotations",
    "parity_synth",
    "pipeline",
    "ppm_compilation",
    "ppm_specs",
    "ppr_to_mbqc",
    "ppr_to_ppm",
    "reduce_t_depth",
    "register_pass",
    "split_non_commuting",
    "split_to_single_terms",
    "to_ppr",
    "values",
]


def __getattr__(name: str) -> Any:
    """What a pass of one's own is written with is imported for those who write one."""
    if name not in __all__:
        raise unknown_name(__name__, name)
    if name in ("Pass", "PassPlugin"):
        return getattr(plugins, name)
    if name == "register_pass":
        return table.register_pass  # which knows the names of the frontend's passes
    return getattr(diastase_mlir, "circuit_values" if name == "values" else name)


__dir__ = public_names(__name__)
