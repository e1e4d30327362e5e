"""What state preparations are given: amplitudes, and whether they have norm 1.

PennyLane looks at the norm of known amplitudes when the operator is made, if it was told to
(`validate_norm`), and again, less strictly, when a preparation in the middle of a circuit is
decomposed. The norm of traced amplitudes is checked when the program runs, in the same cases and as
strictly.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.primitives.checks import require
from diastase.tracing.pennylane import describe

TOLERANCE = 1e-10
"""PennyLane's for the norm of a state that is asked to be validated; relative: 1e-5."""
TOLERANCE_OF_CIRCUITS = 1e-3
"""PennyLane's for the norm of a state that gates prepare."""


def amplitudes_of(operator: Any) -> Any:
    """The state that a preparation makes of |0...0>, in the order of its wires."""
    vector = operator.state_vector(wire_order=operator.wires)
    if hasattr(vector, "toarray"):  # given as a sparse matrix
        vector = vector.toarray()
    if isinstance(vector, Tracer):
        return vector.reshape(2 ** len(operator.wires))
    return np.asarray(vector).reshape(2 ** len(operator.wires))


def check_norm(operator: Any, first: bool) -> None:
    """Check the norm of traced amplitudes; `first`: they are not prepared by gates."""
    if not isinstance(operator, qml.StatePrep) or not isinstance(operator.data[0], Tracer):
        return
    settings = operator.hyperparameters
    validated = settings["validate_norm"] and not settings["normalize"]
    if (not validated and first) or settings["pad_with"] is not None:
        return
    tolerance = TOLERANCE if validated else TOLERANCE_OF_CIRCUITS
    norm = jnp.linalg.norm(operator.data[0].astype(jnp.complex128))
    what = f"{describe(operator)}: the state does not have norm 1; see normalize=True"
    require(jnp.isclose(norm, 1.0, atol=tolerance), what)
