"""All runs of a circuit as one equation, where `jax.vmap` looks on.

A circuit that is run several times is a loop, with scripts of outcomes and conditions for its end
that belong to one element of a batch alone. So `jax.vmap` gets to see one equation, `several_runs`,
and each element of the batch has the loop by itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase.primitives.batches import note_batch, several_runs_p
from diastase_mlir.jax_internals import is_batching, trace_to_jaxpr


def together(record: Callable[[], Sequence[Any]]) -> list[Any]:
    """What `record` records, as one equation if that is what it takes; its results."""
    if not is_batching():
        return list(record())
    note_batch()
    jaxpr, captured = trace_to_jaxpr(record, [], "runs")
    return list(several_runs_p.bind(*captured, jaxpr=jaxpr))
