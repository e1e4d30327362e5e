"""Derivatives of what is read from a density matrix: all of it is linear in it.

The value is read from that half of the register in which the newest derivative wire is 0, the
derivative from the other half (`half`). Halves are registers with one derivative wire less, the
oldest one; so in a circuit of order k a measurement sees a half of a half ..., of which the newest
derivative wire is left.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import lax

from diastase.autodiff.tangents.gate_rules import Pair, Rule, is_zero, unchanged
from diastase.primitives import measurement
from diastase.primitives.mixed import half_p, square_pauli_p
from diastase.primitives.quantum import release_p


def _read(primitive: Any, register: Any, which: int, *operands: Any, **params: Any) -> Any:
    part = half_p.bind(register, which=which)
    result = primitive.bind(part, *operands, **params)
    release_p.bind(part)
    return result


def _of_state(primitive: Any) -> Rule:
    """The rule of what has no operand but wires."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
        value, change = (_read(primitive, primals[0], k, *primals[1:], **params) for k in (0, 1))
        return value, change

    return rule


def _of_observable(primitive: Any) -> Rule:
    """The rule of what is linear in coefficients or in a matrix, too."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
        register, array, *wires = primals
        value, change = (_read(primitive, register, k, array, *wires, **params) for k in (0, 1))
        if not is_zero(tangents[1]):
            change = change + _read(primitive, register, 0, tangents[1], *wires, **params)
        return value, change

    return rule


def _square_pauli(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    """A square: Tr((O dO + dO O) r) = (Tr((O + dO)^2 r) - Tr((O - dO)^2 r)) / 2."""
    register, coefficients, *wires = primals
    read = partial(_read, square_pauli_p, register)
    value, change = (read(k, coefficients, *wires, **params) for k in (0, 1))
    if not is_zero(tangents[1]):
        size = lax.stop_gradient(jnp.max(jnp.abs(tangents[1])))
        size = jnp.where(size > 0, size, 1.0)
        more, less = (
            read(0, coefficients + sign * tangents[1] / size, *wires, **params) for sign in (1, -1)
        )
        change = change + size / 2 * (more - less)
    return value, change


RULES: Mapping[str, Rule] = {
    "expval_pauli": _of_observable(measurement.expval_pauli_p),
    "expval_matrix": _of_observable(measurement.expval_matrix_p),
    "square_pauli": _square_pauli,
    "probs": _of_state(measurement.probs_p),
    "state": _of_state(measurement.state_p),
    "density_matrix": _of_state(measurement.density_matrix_p),
    "half": unchanged(half_p),
}
