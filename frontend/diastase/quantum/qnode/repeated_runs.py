"""All runs of a circuit: a loop, and one equation where JAX's transformations look on.

`run_for_each_shot` takes a body that draws one shot, and gives its results; those that differ from
run to run (`differing`) in arrays with an element for each shot, the others as they are; and, where
outcomes are postselected, which of the shots count. Postselection, by mode:

- `hw-like`: outcomes are drawn; a shot that misses is run, and does not count;
- `fill-shots`: a run that misses is repeated until one does not, so all shots count, and are those
  that the outcome leaves. (PennyLane has this mode for `deferred` only; it is the same for all.)

The loop has scripts of outcomes and conditions for its end that belong to one element of a batch
alone. So `jax.vmap` gets to see one equation, `several_runs`, and each element of the batch has the
loop by itself. A loop over outcomes is not differentiated: the equation has `branches`, by which it
is (`autodiff.qnode.mcm_branches`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.control_flow.loops import trace_for_loop, trace_while_loop
from diastase.primitives.batching import note_batch, several_runs_p
from diastase.primitives.qnode_derivatives import is_inexact
from diastase.primitives.sampling import (
    end_script_p,
    next_run_p,
    outcome_script_p,
    run_is_valid_p,
)
from diastase.quantum.qnode.circuits import NO_SCRIPT, TracedCircuit
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


def run_for_each_shot(
    traced: TracedCircuit, num_drawn: int, differing: Sequence[bool], number: Any
) -> tuple[list[Any], Any]:
    """Record the loop; the first `num_drawn` results are vectors of one shot."""
    drops = traced.circuit.postselects and traced.settings.postselect_mode == "hw-like"
    found = bind_several_runs(lambda: _loop_over_shots(traced, num_drawn, differing, number, drops))
    return (found[:-1], found[-1]) if drops else (found, None)


def _loop_over_shots(
    traced: TracedCircuit, num_drawn: int, differing: Sequence[bool], number: Any, drops: bool
) -> list[Any]:
    """What was collected, and where shots are dropped, which of them are valid."""
    settings, avals = traced.settings, traced.jaxpr.out_avals
    repeats = traced.circuit.postselects and not drops
    script = outcome_script_p.bind(mode="shots") if drops or repeats else NO_SCRIPT
    run = _repeated if repeats else _once
    shapes = [aval.shape[position < num_drawn :] for position, aval in enumerate(avals)]
    initial = [
        jnp.zeros((number, *shape) if differs else shape, aval.dtype)
        for aval, shape, differs in zip(avals, shapes, differing, strict=True)
    ]

    def shot(index: Any, valid: Any, *collected: Any) -> Any:
        found = run(traced, script, drops or repeats)
        arrays = [
            _written(array, jnp.reshape(value, shape), index) if differs else value
            for array, value, shape, differs in zip(
                collected, found, shapes, differing, strict=True
            )
        ]
        return (_written(valid, run_is_valid_p.bind(script), index) if drops else valid, *arrays)

    start = jnp.ones((number,) if drops else (), bool)
    state = (start, *initial)
    results = trace_for_loop((0, settings.total_shots, 1), shot, state)
    valid, *arrays = results if initial else (results,)
    if drops or repeats:
        end_script_p.bind(script)
    return [*arrays, valid] if drops else arrays


def _once(traced: TracedCircuit, script: Any, follows: bool) -> list[Any]:
    if follows:
        next_run_p.bind(script)
    return traced.run(script)


def _repeated(traced: TracedCircuit, script: Any, follows: bool) -> list[Any]:
    """Run until all postselected outcomes are found."""
    assert follows

    def attempt(valid: Any, *_: Any) -> Any:
        next_run_p.bind(script)
        found = traced.run(script)
        return run_is_valid_p.bind(script), *found

    zeros = [jnp.zeros(aval.shape, aval.dtype) for aval in traced.jaxpr.out_avals]
    state = (jnp.asarray(False), *zeros)
    _, *found = trace_while_loop(lambda valid, *_: ~valid, attempt, state)
    return list(found)


def _written(array: Any, value: Any, index: Any) -> Any:
    return jax.lax.dynamic_update_index_in_dim(array, value, index, 0)
