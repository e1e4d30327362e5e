"""PennyLane's internals: the only package that reaches into them.

- `qnodes`: calls of QNodes are taken over; what a QNode has been told to do; who looks into one.
- `queues`: `CircuitQueue`, in which we record: it knows for each operator where it was applied,
  and in which JAX trace, and it tells when PennyLane takes an operator back.
- `operators`: operators in messages, among arguments and results, and put off; what PennyLane
  itself makes of `adjoint`, `ctrl`, `measure` and `cond`.
- `arithmetic`: observables times, and plus, traced numbers.
- `channels`: Kraus matrices that are none.
- `wires`: traced wires as labels that PennyLane can handle.
- `devices`: those that our engine stands for, and a traced number of wires.
- `compilers`: diastase as one of PennyLane's compilers, or in place of Catalyst.
- `private`: the private names of PennyLane, and its functions that are replaced: all of them.

Patches are applied once, on import, and do nothing unless this thread is tracing one of our
programs, so eager PennyLane is never disturbed, in this thread or another.
"""

from diastase.capture.pennylane_compat import arithmetic as arithmetic  # for its patches
from diastase.capture.pennylane_compat import channels as channels  # for its patch
from diastase.capture.pennylane_compat.compilers import (
    register_compiler,
    stand_in_for_catalyst,
    stands_in_for_catalyst,
)
from diastase.capture.pennylane_compat.devices import TracedNumber, traced_number_of_wires
from diastase.capture.pennylane_compat.operators import (
    describe,
    flatten_object,
    is_native_outcome,
    is_no_pytree,
    is_operator,
    is_operator_class,
    is_quantum_object,
    native_adjoint,
    native_cond,
    native_ctrl,
    native_measure,
    native_pauli_measure,
    patch_pauli_measure,
    refuse_outcomes_as_numbers,
    unflatten_object,
    with_parameters,
    withdraw_operators,
    without_operators,
)
from diastase.capture.pennylane_compat.private import restore_former_jax
from diastase.capture.pennylane_compat.qnodes import (
    QNodeHandler,
    apply_transform,
    debugger_of,
    intercept_qnodes,
    is_inside_pennylane,
    look_through,
    qnode_of_tape,
    run_as_qnode,
    shots_of_call,
    splitting_at_snapshots,
    tape_of,
    transform_name,
)
from diastase.capture.pennylane_compat.queues import (
    CircuitQueue,
    Place,
    is_recording,
    making_operators,
    withdraw_since,
)
from diastase.capture.pennylane_compat.wires import TracedWire, is_traced_wire, unwrapped

__all__ = [
    "CircuitQueue",
    "Place",
    "QNodeHandler",
    "TracedNumber",
    "TracedWire",
    "apply_transform",
    "debugger_of",
    "describe",
    "flatten_object",
    "intercept_qnodes",
    "is_inside_pennylane",
    "is_native_outcome",
    "is_no_pytree",
    "is_operator",
    "is_operator_class",
    "is_quantum_object",
    "is_recording",
    "is_traced_wire",
    "look_through",
    "making_operators",
    "native_adjoint",
    "native_cond",
    "native_ctrl",
    "native_measure",
    "native_pauli_measure",
    "patch_pauli_measure",
    "qnode_of_tape",
    "refuse_outcomes_as_numbers",
    "register_compiler",
    "run_as_qnode",
    "shots_of_call",
    "splitting_at_snapshots",
    "stand_in_for_catalyst",
    "stands_in_for_catalyst",
    "tape_of",
    "traced_number_of_wires",
    "transform_name",
    "unflatten_object",
    "unwrapped",
    "with_parameters",
    "withdraw_operators",
    "withdraw_since",
    "without_operators",
]

restore_former_jax()
