"""A QNode with shots: one run of its body for all of them, or one run for each.

Shots of a circuit without measurements in its middle are all drawn from one final state. So they
are with `single-branch-statistics`, where they are conditioned on the outcomes of that one run.
The other methods give each shot outcomes of its own: the body is run in a loop, once for each, and
what a run found is written into arrays with an element for each shot.

A classical value that a QNode returns depends on the outcomes, and then has a row for each shot,
or it does not, and is returned as it is (`dependence`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from pennylane.measurements import MeasurementProcess

from diastase.primitives.sampling import assert_shots_p
from diastase.tracing.carries import LoopOptions
from diastase.tracing.circuits import QNodeCall, TracedCircuit, trace_circuit
from diastase.tracing.loops import trace_for_loop
from diastase.tracing.qnode_results import classical_result
from diastase.tracing.qnode_settings import QNodeSettings
from diastase.tracing.quantum_errors import UnsupportedMeasurementError, UnsupportedQNodeError
from diastase.tracing.quantum_scope import CircuitScope
from diastase.tracing.resizing import dimension_table
from diastase.tracing.sampling.dependence import differs
from diastase.tracing.sampling.requests import Requests, Shots
from diastase.tracing.sampling.statistics import Statistic, prepare
from diastase_mlir import user_span


def call_with_shots(call: QNodeCall) -> Any:
    """Record the call of a QNode that has shots."""
    number = checked_shots(call.settings)
    measured = Measured(call.settings, number)
    traced = trace_circuit(call, measured.finish)
    if traced.circuit.postselects and measured.singly:
        raise UnsupportedQNodeError(
            qnode=call.settings.qnode,
            setting="shots and postselection",
            hint="postselection with shots comes with a later version",
            span=user_span(),
        )
    arrays = _run_for_each_shot(traced, measured) if measured.singly else traced.run()
    partitions = [
        jax.tree_util.tree_unflatten(traced.tree, results) for results in measured.results(arrays)
    ]
    return tuple(partitions) if call.settings.shots.has_partitioned_shots else partitions[0]


def checked_shots(settings: QNodeSettings) -> Any:
    """The number of all shots as a size; a traced one is checked to be positive."""
    total = settings.total_shots
    if not isinstance(total, Tracer):
        return total
    table = dimension_table()
    assert_shots_p.bind(shots=table.of(total), qnode=settings.qnode)
    return table.size(total)


class Measured:
    """What a body with shots finds in a run, and what is made of it afterwards.

    The body's results are `[*drawn, *constants, *classical]`.
    """

    def __init__(self, settings: QNodeSettings, number: Any) -> None:
        self.settings = settings
        self.number = number
        self.singly = False
        """Whether each shot takes a run of its own."""
        self.num_drawn = 0
        self._requests: Requests
        self._leaves: list[Statistic | None] = []
        """How each leaf of the results is computed of the shots; None for a classical one."""

    def finish(self, leaves: Sequence[Any], scope: CircuitScope) -> Sequence[Any]:
        """Draw what the measurements need, for all shots or for one."""
        self.singly = (
            scope.circuit.measures and self.settings.mcm_method != "single-branch-statistics"
        )
        self._requests = Requests(scope)
        self._leaves = [_prepared(leaf, self._requests) for leaf in leaves]
        drawn = self._requests.draw(1 if self.singly else self.number)
        self.num_drawn = len(drawn)
        values = [
            classical_result(leaf, self.settings.qnode)
            for leaf, statistic in zip(leaves, self._leaves, strict=True)
            if statistic is None
        ]
        return [*drawn, *self._requests.constants, *values]

    def check(self, differing: Sequence[bool]) -> None:
        """Refuse constants of observables that would differ from shot to shot."""
        for differs_here, process in zip(
            differing[self.num_drawn :], self._requests.constant_of, strict=False
        ):
            if differs_here:
                raise UnsupportedMeasurementError(
                    measurement=repr(process),
                    reason="of an observable that depends on mid-circuit outcomes",
                )

    def results(self, arrays: Sequence[Any]) -> list[list[Any]]:
        """For each partition of the shots, what each leaf of the results is."""
        count = self.num_drawn + len(self._requests.constants)
        shots = self._requests.shots(arrays[:count])
        partitions = [shots]
        if self.settings.shots.has_partitioned_shots:
            bins = self.settings.shots.bins()
            partitions = [shots.only(_slice(start, end)) for start, end in bins]
        return [self._leaves_of(each, arrays[count:]) for each in partitions]

    def _leaves_of(self, shots: Shots, values: Sequence[Any]) -> list[Any]:
        remaining = iter(values)
        return [
            next(remaining) if statistic is None else statistic(shots) for statistic in self._leaves
        ]


def _prepared(leaf: Any, requests: Requests) -> Statistic | None:
    if not isinstance(leaf, MeasurementProcess):
        return None
    with requests.scope.as_from(leaf):
        return prepare(leaf, requests)


def _slice(start: Any, end: Any) -> Callable[[Any], Any]:
    return lambda array: array[start:end]


def _run_for_each_shot(traced: TracedCircuit, measured: Measured) -> list[Any]:
    """Run the body in a loop: what is drawn, and differs, in arrays over the shots."""
    differing = differs(traced.jaxpr)
    measured.check(differing)
    drawn = measured.num_drawn
    number, total = measured.number, measured.settings.total_shots
    avals = traced.jaxpr.out_avals
    if not avals:
        return []
    initial = [
        jnp.zeros((number, *aval.shape[position < drawn :]), aval.dtype)
        if differs_here or position < drawn
        else jnp.zeros(aval.shape, aval.dtype)
        for position, (aval, differs_here) in enumerate(zip(avals, differing, strict=True))
    ]

    def run(shot: Any, *collected: Any) -> Any:
        found = traced.run()
        next_collected = [
            _write(array, value[0] if position < drawn else value, shot)
            if differing[position] or position < drawn
            else value
            for position, (array, value) in enumerate(zip(collected, found, strict=True))
        ]
        return tuple(next_collected) if len(next_collected) > 1 else next_collected[0]

    results = trace_for_loop((0, total, 1), run, tuple(initial), LoopOptions())
    return list(results) if len(initial) > 1 else [results]


def _write(array: Any, value: Any, shot: Any) -> Any:
    return jax.lax.dynamic_update_index_in_dim(array, value, shot, 0)
