"""Names that JAX has dropped with 0.12: PennyLane 0.45 still calls them, for every tracer."""

from jax import core
from jax.extend.core import concrete_or_error

from diastase_mlir.jax_internals import is_concrete


def restore() -> None:
    """Put them back into `jax.core` where they are gone; `hasattr` would warn of those to go."""
    for name, function in (("is_concrete", is_concrete), ("concrete_or_error", concrete_or_error)):
        core.__dict__.setdefault(name, function)
