"""In which precision a QNode's amplitudes are: complex128, or complex64.

Single precision is asked for by the device, PennyLane's way (`qml.device("lightning.qubit",
c_dtype=np.complex64)`), for its QNodes, or for all QNodes of a program, `qjit(precision="single")`.

Types of results are those of lightning in JAX: the amplitudes' own (complex64 states and density
matrices, float32 probabilities), while numbers, which are summed up in double precision, are
float64: expectation values, variances, purities, entropies.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from pennylane import measurements

from diastase.capture.context import current_settings
from diastase.primitives.quantum import AbstractRegister
from diastase_mlir.jax_compat import abstract_value

_NARROW: dict[type, Any] = {
    measurements.ProbabilityMP: jnp.float32,
    measurements.DensityMatrixMP: jnp.complex64,
}
"""Results that are computed in double precision of any state, and the types that they then have."""


def is_single(device: Any) -> bool:
    """Whether a QNode on this device that is called now is to have complex64 amplitudes."""
    asked = getattr(device, "c_dtype", None)
    return current_settings().single or (asked is not None and np.dtype(asked) == np.complex64)


def in_precision_of(register: Any, process: Any, value: Any) -> Any:
    """Give the value of a measurement the type that it has in the register's precision."""
    kind = abstract_value(register)
    narrow = _NARROW.get(type(process))
    if narrow is None or not isinstance(kind, AbstractRegister) or not kind.single:
        return value
    return value.astype(narrow)
