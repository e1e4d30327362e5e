"""What the parameters of PennyLane's channels may be: probabilities, times, Kraus matrices.

Those that are known are checked now; traced ones when the program runs. PennyLane looks at most of
them only when it computes Kraus matrices. NaN is in no interval.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.noise_errors import ChannelError
from diastase.capture.pennylane_compat import describe
from diastase.capture.quantum_errors import ParameterTypeError
from diastase.primitives.checks import require

TOLERANCE = 1e-5
"""Of the sum of products of Kraus matrices, relative and absolute (1e-8), as PennyLane's."""


def checked_strengths(channel: Any) -> list[Any]:
    """The parameters of one of PennyLane's own channels, as f64: known, or traced."""
    parameters = [number(channel, value) for value in channel.data]
    for holds, what in _CONDITIONS[type(channel)](*parameters):
        check(channel, holds, what)
    return parameters


def check(channel: Any, holds: Any, what: str) -> None:
    """Check a condition on a channel, now or when the program runs."""
    if isinstance(holds, Tracer):
        require(holds, f"{describe(channel)}: {what}")
    elif not holds:
        raise ChannelError(operation=describe(channel), reason=what)


def check_kraus(channel: Any, matrices: Any) -> None:
    """Check Kraus matrices `[number, size, size]`; of traced ones their shape only."""
    size = 2 ** len(channel.wires)
    if np.ndim(matrices) != 3 or tuple(np.shape(matrices)[1:]) != (size, size):
        what = (
            f"Kraus matrices of shape {tuple(np.shape(matrices)[1:])} on "
            f"{len(channel.wires)} wires, where they are {(size, size)}"
        )
        raise ChannelError(operation=describe(channel), reason=what)
    if isinstance(matrices, Tracer):
        return
    total = np.einsum("kji,kjl->il", matrices.conj(), matrices)
    what = "the sum of K.conj().T @ K over its Kraus matrices K is not the identity"
    check(channel, np.allclose(total, np.eye(size), rtol=TOLERANCE), what)


Condition = tuple[Any, str]


def _probability(name: str, value: Any) -> Condition:
    return (0 <= value) & (value <= 1), f"{name} must be in the interval [0,1]"


def _one(name: str) -> Callable[..., Sequence[Condition]]:
    return lambda value: [_probability(name, value)]


def _reset(p0: Any, p1: Any) -> Sequence[Condition]:
    return [_probability("p0", p0), _probability("p1", p1), _probability("p0 + p1", p0 + p1)]


def _relaxation(pe: Any, t1: Any, t2: Any, tg: Any) -> Sequence[Condition]:
    return [
        _probability("pe", pe),
        (tg >= 0, "tg must not be negative"),
        (t1 > 0, "t1 must be positive"),
        ((t2 > 0) & (t2 <= 2 * t1), "t2 must be positive, and at most 2 * t1"),
    ]


_CONDITIONS: dict[type, Callable[..., Sequence[Condition]]] = {
    qml.AmplitudeDamping: _one("gamma"),
    qml.GeneralizedAmplitudeDamping: lambda gamma, p: [
        _probability("gamma", gamma),
        _probability("p", p),
    ],
    qml.PhaseDamping: _one("gamma"),
    qml.DepolarizingChannel: _one("p"),
    qml.BitFlip: _one("p"),
    qml.PhaseFlip: _one("p"),
    qml.PauliError: _one("p"),
    qml.ResetError: _reset,
    qml.ThermalRelaxationError: _relaxation,
}


def is_own(channel: Any) -> bool:
    """Whether a channel is one of PennyLane's that are given by numbers."""
    return type(channel) in _CONDITIONS


def number(channel: Any, value: Any) -> Any:
    """A parameter as f64: known, or traced."""
    if np.ndim(value) != 0:
        reason = f"a parameter has the shape {tuple(np.shape(value))}, not ()"
        raise ParameterTypeError(operation=describe(channel), reason=reason)
    if not _is_number(value):
        reason = f"a parameter is no number: {value!r}"
        raise ParameterTypeError(operation=describe(channel), reason=reason)
    if jnp.iscomplexobj(value):
        raise ParameterTypeError(operation=describe(channel), reason="a parameter is complex")
    return value.astype(jnp.float64) if isinstance(value, Tracer) else np.float64(value)


def _is_number(value: Any) -> bool:
    dtype = getattr(value, "dtype", None) or np.min_scalar_type(value)
    is_number = jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)
    return bool(is_number) or isinstance(value, int)  # which may have more than 64 bits
