"""A QNode without shots whose derivatives are made of shifted runs.

Shifted runs give derivatives of averages over the state, so the body measures averages, and what is
no average (a variance, a purity, an entropy) is computed of them outside, where JAX differentiates
it. What can be neither (a state) is a result of the body, and refused if it is differentiated.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
from pennylane import measurements

from diastase.quantum.circuits.circuits import QNodeCall, trace_circuit
from diastase.quantum.sampling.averages import Averaged, averaged
from diastase.quantum.scope.circuit_scope import CircuitScope
from diastase.quantum.settings.precision import in_precision_of

_NO_AVERAGES = (
    measurements.VarianceMP,
    measurements.PurityMP,
    measurements.VnEntropyMP,
    measurements.MutualInfoMP,
)


def call_by_moments(call: QNodeCall, measure: Callable[[Any, CircuitScope], Any]) -> Any:
    """Record the call; `measure`: the result of a leaf of what the quantum function returned."""
    leaves: list[Averaged] = []

    def finish(returned: Sequence[Any], scope: CircuitScope) -> Sequence[Any]:
        leaves[:] = [_moments(leaf, scope, measure) for leaf in returned]
        return [moment for leaf in leaves for moment in leaf.moments]

    traced = trace_circuit(call, finish)
    found = iter(traced.beside(traced.run()))
    results = [leaf.result([next(found) for _ in leaf.moments]) for leaf in leaves]
    return jax.tree_util.tree_unflatten(traced.tree, results)


def _moments(
    leaf: Any, scope: CircuitScope, measure: Callable[[Any, CircuitScope], Any]
) -> Averaged:
    if not isinstance(leaf, _NO_AVERAGES) or leaf.mv is not None:
        return Averaged([measure(leaf, scope)], lambda values: values[0])
    found = averaged(leaf, scope)
    assert found is not None
    like = partial(in_precision_of, scope.register, leaf)
    return Averaged(found.moments, lambda values: like(found.result(values)))
