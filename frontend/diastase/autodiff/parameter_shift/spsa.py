"""The directions of `spsa`: into which all parameters are shifted at once.

With PennyLane's option `sampler_rng` a number, directions are PennyLane's, drawn while tracing, the
same for each call. So are those of a `sampler` of the user's. Otherwise each call draws its own
signs, from the call's random numbers, which `seed` makes the same again.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pennylane.gradients import spsa_grad

from diastase.primitives.errors import NoDerivativeError
from diastase.primitives.sampling import uniform_p
from diastase_mlir import user_span

_transform: Any = spsa_grad.tape_transform
_SIGNS_OF_PENNYLANE = inspect.signature(_transform).parameters["sampler"].default
"""Signs that are drawn while tracing."""


def directions_of(options: Mapping[str, Any], number: Any) -> Sequence[Any]:
    """As many directions as were asked for, each with an element for each parameter."""
    count, sampler, seed = options["num_directions"], options["sampler"], options["sampler_rng"]
    if sampler in (None, _SIGNS_OF_PENNYLANE) and seed is None:
        return [_signs(number) for _ in range(count)]
    if not isinstance(number, int):
        raise NoDerivativeError(
            construct="a QNode with diff_method='spsa'",
            reason="sampler and sampler_rng draw while tracing, and only the program knows how "
            "many parameters there are",
            span=user_span(),
        )
    draw = _SIGNS_OF_PENNYLANE if sampler is None else sampler
    generator = np.random.default_rng(seed)
    indices = list(range(number))
    return [
        jnp.asarray(np.asarray(draw(indices, number, turn, rng=generator), np.float64))
        for turn in range(count)
    ]


def _signs(number: Any) -> Any:
    def sign(_: Any) -> Any:
        return jnp.where(uniform_p.bind() < 0.5, -1.0, 1.0)

    return jax.lax.map(sign, jnp.arange(number))
