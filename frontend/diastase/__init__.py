"""diastase: a quantum-classical just-in-time compiler for PennyLane and JAX programs.

This is the whole public API. Importing it turns on 64-bit types in JAX, as the programs of
PennyLane's users assume.
"""

import jax

jax.config.update("jax_enable_x64", True)

from diastase.garbage import fewer_collections  # noqa: E402

with fewer_collections():
    from diastase import passes
    from diastase.api.batches import vmap
    from diastase.api.control_flow import cond, for_loop, switch, while_loop
    from diastase.api.errors import RecompilationWarning
    from diastase.api.gradients import grad, jacobian, value_and_grad
    from diastase.api.products import jvp, vjp
    from diastase.api.profiling import profile
    from diastase.api.qjit import QJIT, qjit
    from diastase.api.quantum import measure, pauli_measure
    from diastase.api.quantum_functions import adjoint, ctrl
    from diastase_runtime.errors import DiastaseError

__all__ = [
    "QJIT",
    "DiastaseError",
    "RecompilationWarning",
    "adjoint",
    "cond",
    "ctrl",
    "for_loop",
    "grad",
    "jacobian",
    "jvp",
    "measure",
    "passes",
    "pauli_measure",
    "profile",
    "qjit",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
