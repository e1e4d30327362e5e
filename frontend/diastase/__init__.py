"""diastase: a quantum-classical just-in-time compiler for PennyLane and JAX programs.

This is the whole public API. Importing it turns on 64-bit types in JAX, as the programs of
PennyLane's users assume.
"""

from typing import TYPE_CHECKING, Any

import jax

jax.config.update("jax_enable_x64", True)

from diastase_toolchain.gc_pause import fewer_collections  # noqa: E402

autograph_strict_conversion = False
"""Whether a loop that AutoGraph leaves to Python is an error."""
autograph_ignore_fallbacks = False
"""Whether AutoGraph says nothing of loops that it leaves to Python."""

with fewer_collections():
    from diastase.api.quantum import measure, pauli_measure
    from diastase.jit.options.errors import RecompilationWarning
    from diastase.jit.qjit import QJIT, qjit
    from diastase.namespace.lazy_names import lazy_names, public_names
    from diastase_runtime.errors import (
        CompileError,
        DiastaseError,
        DifferentiableCompileError,
        PlxprCaptureCFCompatibilityError,
    )

if TYPE_CHECKING:
    from diastase import autograph, debug, distributed, passes, pipelines, utils
    from diastase.api.control_flow import cond, for_loop, switch, while_loop
    from diastase.api.gradients import grad, jacobian, value_and_grad
    from diastase.api.jvp_vjp import jvp, vjp
    from diastase.api.quantum_functions import adjoint, ctrl
    from diastase.api.vmap import vmap
    from diastase.autograph import autograph_source, disable_autograph, run_autograph
    from diastase.autograph.staging.errors import AutoGraphError
    from diastase.callbacks.accelerated import accelerate
    from diastase.callbacks.debugging import debug_assert
    from diastase.callbacks.pure import pure_callback
    from diastase.debugging.profiling import profile
    from diastase.inspection.pictures.draw import draw_graph
    from diastase.jit.options.options import CompileOptions
    from diastase.mitigation import mitigate_with_zne
    from diastase.namespace.stand_in import acting_as_catalyst
    from diastase.passes import pipeline
    from diastase.quantum.settings.methods import set_method

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
    "distributed",
    "draw_graph",
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
    "set_method",
    "switch",
    "utils",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

_LAZY = {
    "diastase": (
        "autograph",
        "debug",
        "distributed",
        "errors",
        "jit",
        "passes",
        "pipelines",
        "utils",
    ),
    "diastase.autograph": ("autograph_source", "disable_autograph", "run_autograph"),
    "diastase.autograph.staging.errors": ("AutoGraphError",),
    "diastase.api.vmap": ("vmap",),
    "diastase.callbacks.accelerated": ("accelerate",),
    "diastase.callbacks.debugging": ("debug_assert",),
    "diastase.callbacks.pure": ("pure_callback",),
    "diastase.api.control_flow": ("cond", "for_loop", "switch", "while_loop"),
    "diastase.api.gradients": ("grad", "jacobian", "value_and_grad"),
    "diastase.mitigation": ("mitigate_with_zne",),
    "diastase.inspection.pictures.draw": ("draw_graph",),
    "diastase.jit.options.options": ("CompileOptions",),
    "diastase.passes": ("pipeline",),
    "diastase.quantum.settings.methods": ("set_method",),
    "diastase.api.jvp_vjp": ("jvp", "vjp"),
    "diastase.debugging.profiling": ("profile",),
    "diastase.api.quantum_functions": ("adjoint", "ctrl"),
    "diastase.namespace.stand_in": ("acting_as_catalyst",),
    "diastase.namespace.version": ("__version__",),
}
"""What is imported when it is first asked for: names by the module that has them, and modules."""

__getattr__: Any = lazy_names(__name__, _LAZY)
__dir__ = public_names(__name__)
