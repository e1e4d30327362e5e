"""Passes on circuits: decorators of QNodes, and what is needed to write a pass of one's own.

`docs/adding-a-pass.md` shows how. `values` has arithmetic on angles, which may be known only when
the program runs.
"""

from typing import TYPE_CHECKING, Any

import diastase_mlir
from diastase.api.passes import (
    apply_pass,
    cancel_inverses,
    combine_global_phases,
    disentangle_cnot,
    disentangle_swap,
    merge_rotations,
    pipeline,
)
from diastase.namespace.lazy_names import public_names, unknown_name

if TYPE_CHECKING:
    from diastase_mlir import Circuit, Gate, New, gate_before, register_pass
    from diastase_mlir import circuit_values as values

__all__ = [
    "Circuit",
    "Gate",
    "New",
    "apply_pass",
    "cancel_inverses",
    "combine_global_phases",
    "disentangle_cnot",
    "disentangle_swap",
    "gate_before",
    "merge_rotations",
    "pipeline",
    "register_pass",
    "values",
]


def __getattr__(name: str) -> Any:
    """What a pass of one's own is written with is imported for those who write one."""
    if name not in __all__:
        raise unknown_name(__name__, name)
    return getattr(diastase_mlir, "circuit_values" if name == "values" else name)


__dir__ = public_names(__name__)
