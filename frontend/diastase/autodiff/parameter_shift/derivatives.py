"""Derivatives of QNodes from shifted runs: what stands in the place of their equations.

The methods `parameter-shift`, `finite-diff`, `spsa`, and `hadamard` with shots. For the parameters
p of the operations that a run executes, each with terms (coefficient, shift),

    D f(x)[v] = sum over p of (sum over terms of coefficient * f(x; p + shift)) * D p(x)[v]

plus what results owe to x directly (`qnode.observable_derivatives`). Shifted runs are QNodes of the
same method, and what is summed is classical code (`formula`), so JAX differentiates the formula to
any order.

The trap: it is right only for results that are averages over the state, as `tracing` makes sure by
what QNodes of these methods return; a difference of finite shifts does not ask for that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.autodiff.parameter_shift.formula import Formula, Node
from diastase.autodiff.qnode.result_vectors import (
    Values,
    flat,
    paired,
    pulled_back,
    replaced,
    unflat,
)
from diastase.primitives.qnode_derivatives import Operands, Positions, inexact_positions


def tangent_by_shifts(operands: Values, params: Mapping[str, Any]) -> Values:
    """What stands in the place of a `qnode_tangent` equation."""
    given = Operands.read(operands, dict(params))
    directions = list(zip(params["directions"], given.directions, strict=True))
    return _derivative(Node.of(params), given.values, directions)


def cotangent_by_shifts(operands: Values, params: Mapping[str, Any]) -> Values:
    """What stands in the place of a `qnode_cotangent` equation."""
    given = Operands.read(operands, dict(params))
    directions = list(zip(params["directions"], given.directions, strict=True))
    node, wanted = Node.of(params), params["wanted"]
    if not directions:
        return _gradient(node, given.values, wanted, given.cotangents)

    def total(*moved: Any) -> Any:
        values = replaced(given.values, wanted, moved)
        return paired(given.cotangents, _derivative(node, values, directions))

    return pulled_back(total, [given.values[position] for position in wanted])


def _derivative(
    node: Node, values: Values, directions: Sequence[tuple[Positions, Values]]
) -> Values:
    """D^k f(x)[v1, ..., vk], by the first one, differentiated."""
    *before, (positions, entries) = directions
    if not before:
        return _along(node, values, positions, entries)

    def along(*moved: Any) -> Values:
        return _derivative(node, replaced(values, positions, moved), before)

    primals = tuple(values[position] for position in positions)
    return list(jax.jvp(lambda *m: tuple(along(*m)), primals, tuple(entries))[1])


def _along(node: Node, values: Values, positions: Positions, entries: Values) -> Values:
    formula = Formula.of(node, positions)
    rows = formula.rows(values, flat)
    primals = tuple(values[position] for position in positions)

    def total(*moved: Any) -> Any:
        return formula.weighted(replaced(values, positions, moved), rows)

    avals = [node.body.out_avals[p] for p in inexact_positions(node.body.out_avals)]
    _, change = jax.jvp(total, primals, tuple(entries))
    changes = unflat(change, avals)
    if not formula.has_direct:
        return changes
    found = formula.direct_tangent(values, entries)
    return [one + other for one, other in zip(changes, found, strict=True)]


def _gradient(node: Node, values: Values, wanted: Positions, cotangents: Values) -> Values:
    """The gradient of cotangents . f."""
    formula = Formula.of(node, wanted)
    rows = formula.rows(values, lambda results: paired(cotangents, results)[None])

    def total(*moved: Any) -> Any:
        return jnp.sum(formula.weighted(replaced(values, wanted, moved), rows))

    found = pulled_back(total, [values[position] for position in wanted])
    if not formula.has_direct:
        return found
    direct = formula.direct_gradient(values, cotangents)
    return [one + other for one, other in zip(found, direct, strict=True)]
