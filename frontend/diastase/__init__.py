"""diastase: a quantum-classical just-in-time compiler for PennyLane and JAX programs.

This is the whole public API. Importing it turns on 64-bit types in JAX, as the programs of
PennyLane's users assume.
"""

from typing import TYPE_CHECKING, Any

import jax

jax.config.update("jax_enable_x64", True)

from diastase.garbage import fewer_collections  # noqa: E402

autograph_strict_conversion = False
"""Whether a loop that AutoGraph leaves to Python is an error."""
autograph_ignore_fallbacks = False
"""Whether AutoGraph says nothing of loops that it leaves to Python."""

with fewer_collections():
    from diastase.api.errors import RecompilationWarning
    from diastase.api.names import lazy_names, public_names
    from diastase.api.qjit import QJIT, qjit
    from diastase.api.quantum import measure, pauli_measure
    from diastase_runtime.errors import (
        CompileError,
        DiastaseError,
        DifferentiableCompileError,
        PlxprCaptureCFCompatibilityError,
    )

if TYPE_CHECKING:
    from diastase import autograph, debug, passes, pipelines, utils
    from diastase.api.batches import vmap
    from diastase.api.callbacks.accelerated import accelerate
    from diastase.api.callbacks.assertions import debug_assert
    from diastase.api.callbacks.pure import pure_callback
    from diastase.api.control_flow import cond, for_loop, switch, while_loop
    from diastase.api.gradients import grad, jacobian, value_and_grad
    from diastase.api.mitigation.zne import mitigate_with_zne
    from diastase.api.options import CompileOptions
    from diastase.api.passes import pipeline
    from diastase.api.products import jvp, vjp
    from diastase.api.profiling import profile
    from diastase.api.quantum_functions import adjoint, ctrl
    from diastase.api.stand_in import acting_as_catalyst
    from diastase.autograph import autograph_source, disable_autograph, run_autograph
    from diastase.autograph.errors import AutoGraphError

__all__ = [
    "QJIT",
    "AutoGraphError",
    "CompileError",
    "CompileOptions",
    "DiastaseError",
    "DifferentiableCompileError",
    "PlxprCaptureCFCompatibilityError",
    "RecompilationWarning",
    "accelerate",
    "acting_as_catalyst",
    "adjoint",
    "autograph",
    "autograph_ignore_fallbacks",
    "autograph_source",
    "autograph_strict_conversion",
    "cond",
    "ctrl",
    "debug",
    "debug_assert",
    "disable_autograph",
    "for_loop",
    "grad",
    "jacobian",
    "jvp",
    "measure",
    "mitigate_with_zne",
    "passes",
    "pauli_measure",
    "pipeline",
    "pipelines",
    "profile",
    "pure_callback",
    "qjit",
    "run_autograph",
    "switch",
    "utils",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

_LAZY = {
    "diastase": ("autograph", "debug", "jit", "passes", "pipelines", "utils"),
    "diastase.autograph": ("autograph_source", "disable_autograph", "run_autograph"),
    "diastase.autograph.errors": ("AutoGraphError",),
    "diastase.api.batches": ("vmap",),
    "diastase.api.callbacks.accelerated": ("accelerate",),
    "diastase.api.callbacks.assertions": ("debug_assert",),
    "diastase.api.callbacks.pure": ("pure_callback",),
    "diastase.api.control_flow": ("cond", "for_loop", "switch", "while_loop"),
    "diastase.api.gradients": ("grad", "jacobian", "value_and_grad"),
    "diastase.api.mitigation.zne": ("mitigate_with_zne",),
    "diastase.api.options": ("CompileOptions",),
    "diastase.api.passes": ("pipeline",),
    "diastase.api.products": ("jvp", "vjp"),
    "diastase.api.profiling": ("profile",),
    "diastase.api.quantum_functions": ("adjoint", "ctrl"),
    "diastase.api.stand_in": ("acting_as_catalyst",),
    "diastase.api.version": ("__version__",),
}
"""What is imported when it is first asked for: names by the module that has them, and modules."""

__getattr__: Any = lazy_names(__name__, _LAZY)
__dir__ = public_names(__name__)
