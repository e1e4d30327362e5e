"""What a QNode returns beside measurements: classical values, which go through as they are."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.capture.quantum_errors import UnsupportedReturnError
from diastase_mlir import user_span
from diastase_mlir.jax_compat import is_symbolic


def classical_result(leaf: Any, qnode: str) -> jax.Array:
    """A leaf of what a QNode returned that is no measurement process, as an array."""
    numbers = np.generic | bool | int | float | complex
    if isinstance(leaf, jax.Array | np.ndarray | numbers) or is_symbolic(leaf):
        return jnp.asarray(leaf)
    hint = "a QNode returns measurements, outcomes and arrays, in any pytree"
    raise UnsupportedReturnError(
        function=f"the QNode {qnode}", value=repr(leaf), hint=hint, span=user_span()
    )
