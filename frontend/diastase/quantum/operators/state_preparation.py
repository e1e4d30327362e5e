"""What state preparations are given: amplitudes, and whether they are a state.

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

from diastase.capture.pennylane_compat import describe
from diastase.primitives.checks import require

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


def check_state(operator: Any, first: bool) -> None:
    """Check a state that is traced; `first`: it is not prepared by gates."""
    if isinstance(operator, qml.BasisState) and isinstance(operator.data[0], Tracer):
        bits = operator.data[0]
        what = f"{describe(operator)}: a basis state consists of zeros and ones"
        return require(jnp.all((bits == 0) | (bits == 1)), what)
    return _check_norm(operator, first)


def _check_norm(operator: Any, first: bool) -> None:
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
