"""What PennyLane's functions of the same names do inside of compiled programs.

The entry points `context` and `ops` of the group `pennylane.compilers`: PennyLane asks
`is_tracing()` at each call of `qml.for_loop`, `qml.cond`, `qml.ctrl`, `qml.grad`, …, and calls the
function of the same name here, instead of its own.

PennyLane asks while it is imported itself, too, where `openqasm3` is installed; we may be in the
middle of importing it then. So this module is imported with nothing that needs PennyLane.

The trap: PennyLane calls its own functions, too, while it builds a decomposition, a matrix or a
tape. What it builds there is PennyLane's, so there no compiler is active.
"""

from typing import TYPE_CHECKING, Any

from diastase.capture.context import is_tracing as is_tracing_a_program
from diastase.namespace.lazy_names import lazy_names
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.api.control_flow import cond, for_loop, while_loop
    from diastase.api.gradients import grad, jacobian, value_and_grad
    from diastase.api.jvp_vjp import jvp, vjp
    from diastase.api.quantum import measure, pauli_measure
    from diastase.api.quantum_functions import adjoint, ctrl
    from diastase.capture import pennylane_compat, regions
else:
    pennylane_compat = LazyModule("diastase.capture.pennylane_compat")
    regions = LazyModule("diastase.capture.regions")

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
    scope = regions.current_scope()
    return scope.is_recording if scope is not None else not pennylane_compat.is_recording()


__getattr__: Any = lazy_names(
    __name__,
    {
        "diastase.api.control_flow": ("cond", "for_loop", "while_loop"),
        "diastase.api.gradients": ("grad", "jacobian", "value_and_grad"),
        "diastase.api.jvp_vjp": ("jvp", "vjp"),
        "diastase.api.quantum": ("measure", "pauli_measure"),
        "diastase.api.quantum_functions": ("adjoint", "ctrl"),
    },
)
