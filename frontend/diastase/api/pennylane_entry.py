"""What PennyLane's functions of the same names do inside of compiled programs.

The entry points `context` and `ops` of the group `pennylane.compilers`: PennyLane asks
`is_tracing()` at each call of `qml.for_loop`, `qml.cond`, `qml.ctrl`, `qml.grad`, …, and calls the
function of the same name here, instead of its own.

The trap: PennyLane calls its own functions, too, while it builds a decomposition, a matrix or a
tape. What it builds there is PennyLane's, so there no compiler is active.
"""

from diastase.api.control_flow import cond, for_loop, while_loop
from diastase.api.gradients import grad, jacobian, value_and_grad
from diastase.api.jvp_vjp import jvp, vjp
from diastase.api.quantum import measure, pauli_measure
from diastase.api.quantum_functions import adjoint, ctrl
from diastase.capture.context import is_tracing as is_tracing_a_program
from diastase.capture.pennylane_compat import is_recording
from diastase.capture.regions import current_scope

__all__ = [
    "adjoint",
    "cond",
    "ctrl",
    "for_loop",
    "grad",
    "is_tracing",
    "jacobian",
    "jvp",
    "measure",
    "pauli_measure",
    "value_and_grad",
    "vjp",
    "while_loop",
]


def is_tracing() -> bool:
    """Whether what happens now in this thread is code of a program that we are tracing."""
    if not is_tracing_a_program():
        return False
    scope = current_scope()
    return scope.is_recording if scope is not None else not is_recording()
