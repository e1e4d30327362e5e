"""diastase: a quantum-classical just-in-time compiler for PennyLane and JAX programs.

This is the whole public API. Importing it turns on 64-bit types in JAX, as the programs of
PennyLane's users assume.
"""

import jax

jax.config.update("jax_enable_x64", True)

from diastase import passes  # noqa: E402
from diastase.api.control_flow import cond, for_loop, switch, while_loop  # noqa: E402
from diastase.api.errors import RecompilationWarning  # noqa: E402
from diastase.api.qjit import QJIT, qjit  # noqa: E402
from diastase.api.quantum import measure, pauli_measure  # noqa: E402
from diastase.api.quantum_functions import adjoint, ctrl  # noqa: E402
from diastase_runtime.errors import DiastaseError  # noqa: E402

__all__ = [
    "QJIT",
    "DiastaseError",
    "RecompilationWarning",
    "adjoint",
    "cond",
    "ctrl",
    "for_loop",
    "measure",
    "passes",
    "pauli_measure",
    "qjit",
    "switch",
    "while_loop",
]
