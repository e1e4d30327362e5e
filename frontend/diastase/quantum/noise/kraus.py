"""The Kraus operators of PennyLane's channels, as one array.

In: a channel, whose parameters may be traced. Out: `c128[m, 2^k, 2^k]`. PennyLane looks at
parameters that are known, and refuses probabilities that are none; whether traced ones make a
channel is checked when the program runs.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.pennylane_compat import describe
from diastase.capture.quantum_errors import ParameterTypeError
from diastase.quantum.operators.gate_operands import complex_array, silently


def kraus_of(operator: qml.operation.Channel) -> Any:
    """All Kraus matrices of a channel: an array known now, or a traced one."""
    matrices: Any = silently(operator, operator.kraus_matrices)
    size = 2 ** len(operator.wires)
    for matrix in matrices:
        if np.shape(matrix) != (size, size):
            reason = f"a Kraus matrix of shape {np.shape(matrix)} on {len(operator.wires)} wires"
            raise ParameterTypeError(operation=describe(operator), reason=reason)
    if any(isinstance(matrix, Tracer) for matrix in matrices):
        return jnp.stack([jnp.asarray(matrix).astype(jnp.complex128) for matrix in matrices])
    return complex_array(np.stack([np.asarray(matrix) for matrix in matrices]))
