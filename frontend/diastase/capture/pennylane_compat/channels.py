"""Channels as they are made while this thread is tracing: Kraus matrices that are none are refused.

PennyLane takes a `QubitChannel` apart before it looks at what it was given, so what it raises says
nothing of the channel.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.core import Tracer

from diastase.capture.noise_errors import ChannelError
from diastase.capture.pennylane_compat.private import patch_while_tracing

_NEEDED = "it takes a list of Kraus matrices, arrays of shape (2**wires, 2**wires)"


def _checked(
    original: Callable[..., None], self: Any, K_list: Any, *args: Any, **kwargs: Any
) -> None:
    is_list = isinstance(K_list, list | tuple) or getattr(K_list, "ndim", 0) > 0
    if not is_list or len(K_list) == 0:
        raise _refused(f"it is given {K_list!r}: {_NEEDED}, at least one")
    matrices = list(K_list)
    for number, matrix in enumerate(matrices):
        if not isinstance(matrix, Tracer) and not hasattr(matrix, "shape"):
            raise _refused(f"Kraus matrix {number} is {matrix!r}, no array: {_NEEDED}")
        if np.ndim(matrix) != 2 or matrix.shape != matrices[0].shape:
            raise _refused(f"Kraus matrix {number} has the shape {tuple(matrix.shape)}: {_NEEDED}")
    try:
        original(self, matrices, *args, **kwargs)
    except ValueError as error:
        raise _refused(str(error)) from error


def _refused(reason: str) -> ChannelError:
    return ChannelError(operation="QubitChannel", reason=reason)


patch_while_tracing("kraus_matrices", _checked)
