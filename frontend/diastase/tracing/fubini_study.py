"""The Fubini-Study metric of a state that depends on numbers: exact, by the state's derivatives.

    g_ij = Re[ <d_i psi|d_j psi> - <d_i psi|psi> <psi|d_j psi> ]

In: a function of real arrays that gives a normalised state. All derivatives are one batch of
forward derivatives, and the products between them one matrix product of real numbers, of twice as
many rows as there are amplitudes. The derivatives of all P numbers are kept at once: P states.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def metric(state: Callable[[Any], Any], argument: Any) -> Any:
    """The metric by one argument, an array of any shape s; its own shape is (*s, *s)."""
    shape = jnp.shape(argument)
    amplitudes = state(argument).reshape(-1)
    changes = jax.jacfwd(lambda value: state(value).reshape(-1))(argument)
    return _metric(amplitudes, changes.reshape(amplitudes.size, -1)).reshape(*shape, *shape)


def _metric(amplitudes: Any, changes: Any) -> Any:
    """The metric, where a column of `changes` is the derivative by one number."""
    parts = jnp.concatenate([jnp.real(changes), jnp.imag(changes)])
    overlaps = jnp.conj(amplitudes) @ changes
    return parts.T @ parts - jnp.real(jnp.outer(jnp.conj(overlaps), overlaps))


def pulled_back(gram: Any, jacobian: Any) -> Any:
    """A metric by P numbers as one by what these are computed from: J^T g J.

    `jacobian` has shape (P, *s), the result (*s, *s).
    """
    return jnp.tensordot(jacobian, jnp.tensordot(gram, jacobian, axes=[1, 0]), axes=[0, 0])
