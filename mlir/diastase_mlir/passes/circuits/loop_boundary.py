"""Gates at the two ends of loops' bodies: pairs that undo each other go, rotations become one.

    for { H; R; H }    ->    H; for { R }; H

What `cancel_inverses` and `merge_rotations` do there (`loop_boundaries.py`), and nothing else.
"""

from diastase_mlir.passes.circuits.cancel_inverses import cancel_at_boundary
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.gates import Gate
from diastase_mlir.passes.circuits.loop_boundaries import Boundary, repeat_with_loops
from diastase_mlir.passes.circuits.merge_rotations import merge_at_boundary
from diastase_mlir.passes.circuits.registry import register_pass


@register_pass("loop_boundary", built_in=True)
def loop_boundary(circuit: Circuit) -> None:
    """Join or cancel the last gate of an iteration and the first of the next one."""
    repeat_with_loops(circuit, _nothing_inside, _at_boundary)


def _nothing_inside(gate: Gate, circuit: Circuit) -> None:
    """Gates that meet elsewhere stay."""


def _at_boundary(found: Boundary, circuit: Circuit) -> bool:
    return cancel_at_boundary(found, circuit) or merge_at_boundary(found, circuit)
