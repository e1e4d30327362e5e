"""All runs of a circuit, as one equation whose elements are the runs.

`run_for_each_shot` takes a body that draws one shot, and gives its results; those that differ from
run to run (`differing`) in arrays with an element for each shot, the others as they are; and, where
outcomes are postselected, which of the shots count. Postselection, by mode:

- `hw-like`: outcomes are drawn; a shot that misses is run, and does not count;
- `fill-shots`: a run that misses is repeated until one does not, so all shots count, and are those
  that the outcome leaves. (PennyLane has this mode for `deferred` only; it is the same for all.)

Shots are elements of a batch (`primitives.batching`): a `several_runs` with one axis, that of the
shots. So they run on all threads, and each has a stream of random numbers of its own, which the
seed and its number determine. `jax.vmap` gives the batch one axis more.

Runs that follow each other (a tree of outcomes) belong to one element alone: `bind_several_runs`
makes one equation of them where JAX's transformations look on. A loop over outcomes is not
differentiated: the equation has `branches`, by which it is (`autodiff.qnode.mcm_branches`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.capture.control_flow.loops import trace_while_loop
from diastase.primitives.batching import note_batch, several_runs_p
from diastase.primitives.qnode_derivatives import is_inexact
from diastase.primitives.sampling import (
    end_script_p,
    next_run_p,
    outcome_script_p,
    run_is_valid_p,
)
from diastase.quantum import run_dependence
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
    """Record all runs; the first `num_drawn` results are vectors of one shot."""
    drops = traced.circuit.postselects and traced.settings.postselect_mode == "hw-like"
    operands = [*traced.captured, *[NO_SCRIPT] * traced.takes_script]
    once = {
        place: value
        for place, value in run_dependence.classical_results(traced.jaxpr, operands).items()
        if not differing[place]
    }
    left = [place for place in range(len(differing)) if place not in once]

    def shot(_: Any, *captured: Any) -> list[Any]:
        found, valid = _run_of_shot(replace(traced, captured=captured), drops)
        values = [
            jnp.reshape(found[place], found[place].shape[place < num_drawn :]) for place in left
        ]
        return [*values, valid] if drops else values

    found = _for_each(shot, number, traced.captured)
    valid = found.pop() if drops else None
    arrays = dict(zip(left, found, strict=True))
    results = [
        once[place] if place in once else arrays[place] if differs else arrays[place][-1]
        for place, differs in enumerate(differing)
    ]
    return results, valid


def _for_each(
    shot: Callable[..., Sequence[Any]], number: Any, captured: Sequence[Any]
) -> list[Any]:
    """The results of so many shots, which all have the same operands."""
    note_batch()
    # Nobody reads the elements of this array: it says how many there are.
    shots = jnp.zeros((number,), bool)
    avals = [jax.typeof(np.False_), *map(jax.typeof, captured)]
    jaxpr, more = trace_to_jaxpr(shot, avals, "shot")
    mapped = (*((False,) for _ in more), (True,), *((False,) for _ in captured))
    return list(several_runs_p.bind(*more, shots, *captured, jaxpr=jaxpr, mapped=mapped))


def _run_of_shot(traced: TracedCircuit, drops: bool) -> tuple[list[Any], Any]:
    """What a shot finds, and where shots are dropped, whether it is valid."""
    if not traced.circuit.postselects:
        return traced.run(), None
    script = outcome_script_p.bind(mode="shots")
    found = _once(traced, script) if drops else _repeated(traced, script)
    valid = run_is_valid_p.bind(script)
    end_script_p.bind(script)
    return found, valid


def _once(traced: TracedCircuit, script: Any) -> list[Any]:
    next_run_p.bind(script)
    return traced.run(script)


def _repeated(traced: TracedCircuit, script: Any) -> list[Any]:
    """Run until all postselected outcomes are found."""

    def attempt(valid: Any, *_: Any) -> Any:
        next_run_p.bind(script)
        found = traced.run(script)
        return run_is_valid_p.bind(script), *found

    zeros = [jnp.zeros(aval.shape, aval.dtype) for aval in traced.jaxpr.out_avals]
    state = (jnp.asarray(False), *zeros)
    _, *found = trace_while_loop(lambda valid, *_: ~valid, attempt, state)
    return list(found)
