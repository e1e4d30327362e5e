"""Circuits whose arguments must not be differentiated by, with the reason why.

In: a traced circuit. Out: the same one, whose operands raise `NoDerivativeError` where a derivative
by them is asked for.
"""

from dataclasses import replace
from itertools import compress

from jax.core import Tracer

from diastase.primitives.errors import NoDerivativeError, undifferentiable
from diastase.primitives.qnode_derivatives import is_inexact
from diastase.quantum.qnode.circuits import TracedCircuit
from diastase_mlir import user_span

_OUTCOMES = (
    "its circuit is run for each shot, and an outcome jumps: without shots, with "
    "mcm_method='deferred' or 'tree-traversal', there is a derivative; or keep it out by "
    "jax.lax.stop_gradient on its arguments"
)


def without_derivatives(traced: TracedCircuit, reason: str = _OUTCOMES) -> TracedCircuit:
    """The circuit, whose arguments must not be differentiated by."""
    name, span = traced.settings.qnode, user_span()
    moves = [isinstance(value, Tracer) and is_inexact(value) for value in traced.captured]
    given = iter(
        undifferentiable(
            list(compress(traced.captured, moves)),
            lambda: NoDerivativeError(construct=f"QNode {name}", reason=reason, span=span),
        )
    )
    captured = [
        next(given) if moved else value for value, moved in zip(traced.captured, moves, strict=True)
    ]
    return replace(traced, captured=tuple(captured))
