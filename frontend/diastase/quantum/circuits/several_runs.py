"""All runs of a circuit as one equation, where JAX's transformations look on.

A circuit that is run several times is a loop, with scripts of outcomes and conditions for its end
that belong to one element of a batch alone. So `jax.vmap` gets to see one equation, `several_runs`,
and each element of the batch has the loop by itself. A loop over outcomes is not differentiated:
the equation has `branches`, by which it is (`autodiff.mcm_branches`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from diastase.primitives.batching import note_batch, several_runs_p
from diastase.primitives.qnode_derivatives import is_inexact
from diastase.quantum.circuits.circuits import TracedCircuit
from diastase_mlir.jax_compat import is_batching, trace_to_jaxpr


def bind_averaged_runs(
    record: Callable[[TracedCircuit], Sequence[Any]], traced: TracedCircuit, count: int
) -> list[Any]:
    """What `record` records of a circuit: averages, `count` of them, and other results."""
    if not any(map(is_inexact, traced.jaxpr.in_avals)):
        return bind_several_runs(lambda: record(traced))
    note_batch()
    avals = [jax.typeof(value) for value in traced.captured]

    def runs(*values: Any) -> Sequence[Any]:
        return record(replace(traced, captured=values))

    jaxpr, more = trace_to_jaxpr(runs, avals, "runs")
    branches = Branches(traced, count, len(more))
    return list(several_runs_p.bind(*more, *traced.captured, jaxpr=jaxpr, branches=branches))


@dataclass(frozen=True, eq=False)
class Branches:
    """A circuit whose runs are averaged over outcomes."""

    traced: TracedCircuit
    count: int
    """How many of its results are averages."""
    more: int
    """How many operands the equation has before those of the circuit."""


def bind_several_runs(record: Callable[[], Sequence[Any]]) -> list[Any]:
    """What `record` records, as one equation if that is what it takes; its results."""
    if not is_batching():
        return list(record())
    note_batch()
    jaxpr, captured = trace_to_jaxpr(record, [], "runs")
    return list(several_runs_p.bind(*captured, jaxpr=jaxpr))
