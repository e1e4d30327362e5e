"""A QNode with shots: one run of its body for all of them, or one run for each.

Shots of a circuit without measurements in its middle are all drawn from one final state. So they
are with `single-branch-statistics`, where they are conditioned on the outcomes of that one run.
The other methods give each shot outcomes of its own (`repeated_runs`). A classical value that a
QNode returns depends on the outcomes, and then has a row for each shot, or it does not, and is
returned as it is (`run_dependence`).

The trap: outcomes are integers and have no derivatives, averages over them do: by shifted runs,
each of which draws anew. So a QNode that can be differentiated gives averages from within its
equation, and none of its outcomes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from pennylane import measurements
from pennylane.measurements import MeasurementProcess

from diastase.capture.dynamic_carry import dimension_table
from diastase.capture.pennylane_compat import describe
from diastase.capture.quantum_errors import UnsupportedObservableError
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.qnode_derivatives import is_inexact
from diastase.primitives.sampling import assert_shots_p
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.circuits import QNodeCall, TracedCircuit, trace_circuit
from diastase.quantum.qnode.repeated_runs import run_for_each_shot
from diastase.quantum.qnode.sampling_plan import Requests
from diastase.quantum.qnode.statistics import Statistic, Variance, VarianceParts, prepare
from diastase.quantum.qnode.undifferentiated import without_derivatives
from diastase.quantum.run_dependence import differs
from diastase.quantum.settings.diff_method import is_tested
from diastase.quantum.settings.qnode_settings import QNodeSettings, classical_result
from diastase_mlir.jax_compat import trace_to_jaxpr
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum.qnode import trajectories
else:
    trajectories = LazyModule("diastase.quantum.qnode.trajectories")

Choice = Callable[[Any], Any]
"""From an array over all shots to some of its elements."""


def call_with_shots(call: QNodeCall) -> Any:
    """Record the call of a QNode that has shots."""
    settings = call.settings
    measured = Measured(settings, checked_shots(settings))
    with_outcomes = settings.mcm_method != "single-branch-statistics"
    if settings.method.name == "trajectories":
        measured.chunk = trajectories.chunk_of_shots(settings, measured.number)
    traced = trace_circuit(call, measured.finish, takes_script=with_outcomes)
    if measured.chunk > 1 and trajectories.are_alone(traced):
        measured.chunk = 1
        traced = trace_circuit(call, measured.finish, takes_script=with_outcomes)
    measured.note_results(traced)
    if measured.singly:
        arrays, valid = _all_runs(traced, measured)
        partitions = measured.partitions(traced, traced.beside(arrays), valid)
    elif any(map(is_inexact, traced.jaxpr.in_avals)):
        partitions = _run_with_statistics(traced, measured)
    else:
        partitions = measured.partitions(traced, traced.beside(traced.run()), None)
    return measured.together(partitions)


def _all_runs(traced: TracedCircuit, measured: "Measured") -> tuple[list[Any], Any]:
    """Each shot has outcomes, or a trajectory, of its own."""
    shots = (measured.num_drawn, measured.differing, measured.number)
    if traced.settings.method.name == "trajectories":
        circuit = without_derivatives(traced, trajectories.NO_DERIVATIVE)
        return trajectories.run_shots(circuit, *shots, measured.chunk)
    return run_for_each_shot(without_derivatives(traced), *shots)


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

    def __init__(self, settings: QNodeSettings, number: Any, singly: bool = False) -> None:
        self.settings = settings
        self.number = number
        self._always = singly
        self.singly = False
        """Whether each shot takes a run of its own."""
        self.chunk = 1
        """How many shots one run may be of, if each takes a run of its own."""
        self.num_drawn = 0
        self.differing: Sequence[bool] = ()
        """Of the body's results, which have an element (or a row) for each shot."""
        self.by_averages = False
        """Whether results that are no averages are given by averages."""
        self.refusal: str | None = None
        """Why results have no derivatives, if they have none."""
        self._requests: Requests
        self._leaves: list[Statistic | None] = []
        """How each leaf of the results is computed of the shots; None for a classical one."""

    def finish(self, leaves: Sequence[Any], scope: CircuitScope) -> Sequence[Any]:
        """Draw what the measurements need, for all shots or for one."""
        self.singly = self._always or (
            scope.circuit.measures and self.settings.mcm_method != "single-branch-statistics"
        )
        self._requests = Requests(scope, is_tested(self.settings.differentiation))
        self._leaves = [_prepared(leaf, self._requests) for leaf in leaves]
        self.refusal = _refusal(leaves, self._requests.signed)
        shots = (self.number, self.settings.total_shots)
        if self.singly:
            shots = (self.chunk, self.chunk)
        drawn = self._requests.draw(*shots)
        self.num_drawn = len(drawn)
        values = [
            classical_result(leaf, self.settings.qnode)
            for leaf, statistic in zip(leaves, self._leaves, strict=True)
            if statistic is None
        ]
        return [*drawn, *self._requests.constants, *values]

    def note_results(self, traced: TracedCircuit) -> None:
        """See which results have an element for each shot; no observable's constant may."""
        count = self.num_drawn
        if not self.singly:
            self.differing = [position < count for position in range(len(traced.jaxpr.out_avals))]
            return
        self.differing = [
            position < count or differs_here
            for position, differs_here in enumerate(differs(traced.jaxpr))
        ]
        constants = zip(self.differing[count:], self._requests.constant_of, strict=False)
        for observable in (observable for differs_here, observable in constants if differs_here):
            reason = "depends on mid-circuit outcomes, so that each shot would measure another one"
            raise UnsupportedObservableError(observable=describe(observable), reason=reason)

    def partitions(self, traced: TracedCircuit, arrays: Sequence[Any], valid: Any) -> list[Any]:
        """For each partition of the shots, results as the quantum function returned them.

        `valid`: for each shot whether it counts; None where all do.
        """
        parts = [slice(None)]
        if self.settings.shots.has_partitioned_shots:
            parts = [slice(start, end) for start, end in self.settings.shots.bins()]
        return [
            jax.tree_util.tree_unflatten(traced.tree, self._leaves_of(_chosen(valid, part), arrays))
            for part in parts
        ]

    def together(self, partitions: Sequence[Any]) -> Any:
        """What the QNode returns: one partition, or a tuple of several."""
        return tuple(partitions) if self.settings.shots.has_partitioned_shots else partitions[0]

    def _leaves_of(self, choose: Choice, arrays: Sequence[Any]) -> list[Any]:
        """The leaves that some of the shots give."""
        count = self.num_drawn + len(self._requests.constants)
        shots = self._requests.shots(arrays[:count]).only(choose)
        values = iter(zip(arrays[count:], self.differing[count:], strict=True))
        results: list[Any] = []
        for statistic in self._leaves:
            if statistic is not None:
                if self.by_averages and isinstance(statistic, Variance):
                    results.append(statistic.parts(shots))
                else:
                    results.append(statistic(shots))
                continue
            value, has_shots = next(values)
            results.append(choose(value) if has_shots else value)
        return results


_SAMPLED = (measurements.SampleMP, measurements.CountsMP, measurements.ClassicalShadowMP)
_SAMPLES_JUMP = (
    "samples jump: return an expectation value, a variance or probabilities, or keep derivatives "
    "out by jax.lax.stop_gradient on its arguments"
)
_NO_VARIANCES = "diff_method='hadamard' has no variances, as in PennyLane: use 'parameter-shift'"


def _refusal(leaves: Sequence[Any], tested: bool) -> str | None:
    """Why results have no derivatives: samples, or what is made of them one by one."""
    if any(isinstance(leaf, _SAMPLED) for leaf in leaves):
        return _SAMPLES_JUMP
    if tested and any(isinstance(leaf, measurements.VarianceMP) for leaf in leaves):
        return _NO_VARIANCES
    return None


def _prepared(leaf: Any, requests: Requests) -> Statistic | None:
    if not isinstance(leaf, MeasurementProcess):
        return None
    with requests.scope.as_from(leaf):
        return prepare(leaf, requests)


def _chosen(valid: Any, part: slice) -> Choice:
    """The function that picks, from an array over all shots, a partition's that count."""
    if valid is None:
        return lambda array: array[part]
    return lambda array: array[part][valid[part]]


# --- derivatives ---------------------------------------------------------------------------------


def _run_with_statistics(traced: TracedCircuit, measured: Measured) -> list[Any]:
    """Record a run; the results for each partition of its shots."""
    if measured.refusal is not None:
        circuit = without_derivatives(traced, measured.refusal)
        arrays = circuit.beside(circuit.run())
        return measured.partitions(traced, arrays, None)
    measured.by_averages = True
    trees: list[Any] = []

    def whole(*operands: Any) -> list[Any]:
        arrays = evaluated(traced.jaxpr, operands)
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
