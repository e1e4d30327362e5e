"""A region's jaxpr, extended by derivatives: what `jax.jvp` does, for jaxprs with registers.

    [*inputs]  ->  [*captured, *inputs, *tangents of the active inputs]
    results    ->  [*results, *tangents of the active results]

`captured` are constant arrays that rules have brought in.

A register is active always, and has no tangent among these: the state's derivative is in the
register itself, on its derivative wire (`tangent_circuit`). What JAX sees as its tangent is `MARK`,
a number that nothing reads; it only makes JAX apply our rules to every equation on a register.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr
from jax.interpreters import ad

from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.quantum import is_register_aval
from diastase_mlir.jax_compat import Zero, forward_derivative, trace_to_jaxpr

MARK = np.float64(0.0)
Function = Callable[..., Sequence[Any]]


@dataclass(frozen=True)
class Extended:
    """An extended jaxpr, and which of the region's own results have tangents in it."""

    captured: list[Any]
    jaxpr: ClosedJaxpr
    active: tuple[int, ...]


def extended(
    closed: ClosedJaxpr,
    active: Sequence[int],
    always: Sequence[int] = (),
    instead: dict[str, Any] | None = None,
) -> Extended:
    """Extend a closed jaxpr; `always`: results that get a tangent even if it is zero."""
    avals = list(closed.in_avals)
    found: list[int] = []

    def function(*arguments: Any) -> Sequence[Any]:
        values, entries = arguments[: len(avals)], arguments[len(avals) :]
        results, changes = derivative_of(
            closed, values, dict(zip(active, entries, strict=True)), instead
        )
        found[:] = [
            number
            for number, change in enumerate(changes)
            if not is_register_aval(closed.out_avals[number])
            and (number in always or type(change) is not Zero)
        ]
        return [*results, *(_instantiated(changes[number]) for number in found)]

    types = [*avals, *(_tangent_aval(avals[position]) for position in active)]
    jaxpr, captured = trace_to_jaxpr(function, types, "derivative")
    return Extended(captured, jaxpr, tuple(found))


def derivative_of(
    closed: ClosedJaxpr,
    values: Sequence[Any],
    entries: dict[int, Any],
    instead: dict[str, Any] | None = None,
) -> tuple[list[Any], list[Any]]:
    """Results of a jaxpr and their tangents; `entries`: tangents of operands, by position."""
    tangents = [
        MARK
        if is_register_aval(aval)
        else entries[position]
        if position in entries
        else Zero(aval.to_tangent_aval())
        for position, aval in enumerate(closed.in_avals)
    ]

    def function(*operands: Any) -> Sequence[Any]:
        return evaluated(closed, operands, instead)

    return forward_derivative(function, values, tangents)


def _tangent_aval(aval: Any) -> Any:
    return aval.to_tangent_aval()


def _instantiated(change: Any) -> Any:
    return ad.instantiate_zeros(change)
