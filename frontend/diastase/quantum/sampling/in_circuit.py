"""Statistics of shots within the QNode's equation, where a derivative may be asked for.

Outcomes are integers and have no derivatives, averages over them do: by shifted runs, each of which
draws anew. So a QNode that can be differentiated gives averages, and none of its outcomes.
"""

from dataclasses import replace
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax.core import Tracer

from diastase.primitives.errors import NoDerivativeError
from diastase.primitives.qnode_derivatives import is_inexact
from diastase.quantum.circuits.circuits import TracedCircuit
from diastase.quantum.sampling.statistics import VarianceParts
from diastase_mlir import user_span
from diastase_mlir.jax_compat import evaluate_jaxpr, trace_to_jaxpr

_OUTCOMES = (
    "its circuit is run for each shot, and an outcome jumps: without shots, with "
    "mcm_method='deferred' or 'tree-traversal', there is a derivative; or keep it out by "
    "jax.lax.stop_gradient on its arguments"
)


def without_derivatives(traced: TracedCircuit, reason: str = _OUTCOMES) -> TracedCircuit:
    """The circuit, whose arguments must not be differentiated by.

    Integers have no derivatives that JAX could ask for, so it would take zeros for them.
    """
    name, span = traced.settings.qnode, user_span()

    @jax.custom_jvp
    def unmoved(*values: Any) -> Any:
        return values

    @unmoved.defjvp
    def _(*_: Any) -> Any:
        raise NoDerivativeError(construct=f"QNode {name}", reason=reason, span=span)

    inexact = [
        value for value in traced.captured if isinstance(value, Tracer) and is_inexact(value)
    ]
    given = iter(unmoved(*inexact) if inexact else ())
    captured = [
        next(given) if isinstance(value, Tracer) and is_inexact(value) else value
        for value in traced.captured
    ]
    return replace(traced, captured=tuple(captured))


class Measured(Protocol):
    """What is made of the shots of a body."""

    by_averages: bool
    refusal: str | None

    def partitions(self, traced: TracedCircuit, arrays: Any, valid: Any) -> list[Any]:
        """For each partition of the shots, results as the quantum function returned them."""
        ...


def is_differentiable(traced: TracedCircuit) -> bool:
    """Whether a body depends on anything that has derivatives."""
    return any(map(is_inexact, traced.jaxpr.in_avals))


def run_with_statistics(traced: TracedCircuit, measured: Measured) -> list[Any]:
    """Record a run; the results for each partition of its shots."""
    if measured.refusal is not None:
        circuit = without_derivatives(traced, measured.refusal)
        arrays = circuit.beside(circuit.run())
        return measured.partitions(traced, arrays, None)
    measured.by_averages = True
    trees: list[Any] = []

    def whole(*operands: Any) -> list[Any]:
        arrays = evaluate_jaxpr(traced.jaxpr, operands)
        leaves, tree = jax.tree_util.tree_flatten(measured.partitions(traced, arrays, None))
        trees.append(tree)
        return list(map(jnp.asarray, leaves))

    jaxpr, captured = trace_to_jaxpr(whole, traced.jaxpr.in_avals, traced.settings.qnode)
    circuit = replace(traced, jaxpr=jaxpr, captured=(*captured, *traced.captured))
    found = jax.tree_util.tree_unflatten(trees[0], circuit.beside(circuit.run()))

    def result(leaf: Any) -> Any:
        return leaf.differentiable() if _is_variance(leaf) else leaf

    return jax.tree_util.tree_map(result, found, is_leaf=_is_variance)


def _is_variance(value: Any) -> bool:
    return isinstance(value, VarianceParts)
