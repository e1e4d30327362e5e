"""Names of `jax.core` that JAX has dropped, or will: PennyLane 0.45 still calls them.

`is_concrete` and `concrete_or_error`, gone with 0.12, for every tracer; what traces are made with,
gone with 0.10, in the metric tensors of PennyLane's own on JAX arrays.
"""

from jax import core
from jax.extend.core import TraceTag, concrete_or_error, set_current_trace, take_current_trace

from diastase_mlir.jax_compat import is_concrete

_FORMER = {
    "is_concrete": is_concrete,
    "concrete_or_error": concrete_or_error,
    "TraceTag": TraceTag,
    "set_current_trace": set_current_trace,
    "take_current_trace": take_current_trace,
}


def restore() -> None:
    """Put them back into `jax.core` where they are gone; `hasattr` would warn of those to go."""
    for name, value in _FORMER.items():
        core.__dict__.setdefault(name, value)
