"""Sums, differences and products of mid-circuit outcomes: those of 0 and 1, as PennyLane has them.

An outcome is a traced boolean, and JAX takes the sum of two booleans as "or" and their product as
"and", and has no difference of them: `m + n` would never be 2.

So in a circuit that has measured, `+`, `-` and `*` between two scalar booleans, one of them traced,
take them as integers, wherever they come from: an outcome that a loop has carried is no longer
known as one. What `~ & | ^` give is a truth value, with PennyLane, too, which NumPy adds as JAX
does: two of these are left to JAX, as are arrays of booleans, `jnp.add`, and functions that JAX
traces for itself. `scalar_fast_path` has the operators.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from diastase.capture.jax_overlays.circuits.effect_probe import recording_scope
from diastase.capture.jax_overlays.overlay import Original
from diastase.capture.pennylane_compat.unlike_catalyst import warn_unlike_catalyst
from diastase_mlir.jax_compat import is_recorded, tracer_equation

_SUM = (
    "the sum of two outcomes is 0, 1 or 2",
    "it is True if one of them is",
    "write m | n for that, and m.astype(int) + n for the sum",
)

_LOGIC = frozenset({"and", "not", "or", "xor"})


def of_outcomes(operation: str, original: Original, left: Any, right: Any) -> Any:
    """What an operator of JAX's gives, or means for outcomes."""
    if _is_flag(left) and _is_flag(right) and not (_is_truth(left) and _is_truth(right)):
        scope = recording_scope()
        if scope is not None and scope.has_measured:
            if operation == "add":
                warn_unlike_catalyst(*_SUM)
            left, right = jnp.asarray(left).astype(int), jnp.asarray(right).astype(int)
    return original(left, right)


def _is_flag(value: Any) -> bool:
    if isinstance(value, bool):
        return True
    return getattr(value, "dtype", None) == np.bool_ and getattr(value, "shape", None) == ()


def _is_truth(value: Any) -> bool:
    """Whether a flag is the result of `~ & | ^`."""
    if not isinstance(value, Tracer) or not is_recorded(value):
        return False
    equation = tracer_equation(value)
    return equation is not None and equation.primitive.name in _LOGIC
