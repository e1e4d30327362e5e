"""QNodes without shots whose results are computed of averages: of *moments*, which may be averaged.

`deferred` and `tree-traversal` average over all outcomes (`call_averaged`): the body is run for
each string of outcomes that is possible, by an outcome script in `tree` mode, and what each run
gives counts with its probability. A moment is an expectation value, probabilities, a density
matrix; a variance or a purity is none, so each measurement is measured as moments
(`Averaged.moments`), and computed of their averages (`Averaged.result`). Postselection is
conditional: runs count with the probability of the outcomes asked for.

Shifted runs give derivatives of moments, too. So a QNode that is differentiated by them measures
moments (`call_by_moments`), and JAX differentiates what is computed of them outside. What can be
neither (a state) is a result of the body, and refused if it is differentiated.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from pennylane import measurements
from pennylane.measurements import MeasurementProcess
from pennylane.queuing import AnnotatedQueue

from diastase.capture.control_flow.loops import trace_while_loop
from diastase.capture.quantum_errors import UnsupportedMeasurementError, UnsupportedReturnError
from diastase.primitives.sampling import (
    end_script_p,
    next_run_p,
    outcome_script_p,
    require_weight_p,
    run_weight_p,
)
from diastase.quantum.measurements.measurements import (
    density_matrix,
    entropy_of,
    measure_process,
    measure_snapshot,
    process_name,
    purity_of,
    refuse_samples,
    require_taken_once,
)
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.operators.gate_operands import is_density_matrix
from diastase.quantum.qnode.circuits import QNodeCall, TracedCircuit, trace_circuit
from diastase.quantum.qnode.repeated_runs import bind_averaged_runs
from diastase.quantum.qnode.statistics import Averaged, outcome_moments
from diastase.quantum.run_dependence import differs
from diastase.quantum.settings.qnode_settings import (
    QNodeSettings,
    classical_result,
    in_precision_of,
)
from diastase_mlir import user_span

Trace = Callable[[QNodeCall, Any], TracedCircuit]
"""Traces the body of a call."""
Find = Callable[[TracedCircuit, int], Sequence[Any]]
"""From a body to its results, of which so many are averages over outcomes."""


def call_averaged(call: QNodeCall) -> Any:
    """Record the call of a QNode whose results are averages over outcomes."""

    def find(traced: TracedCircuit, count: int) -> Sequence[Any]:
        if not traced.circuit.measures:
            return traced.run()
        _refuse_outcomes_as_values(traced, count)
        return bind_averaged_runs(partial(_runs, count), traced, count)

    trace = partial(trace_circuit, takes_script=True, measure_snapshot=average_snapshot)
    return averaged_by(call, trace, find)


def averaged_by(call: QNodeCall, trace: Trace, find: Find) -> Any:
    """Results that are computed of averages, which `find` finds."""
    leaves: list[Averaged | None] = []

    def finish(returned: Sequence[Any], scope: CircuitScope) -> Sequence[Any]:
        leaves[:] = [averaged(leaf, scope) for leaf in returned]  # it may be called again
        moments = [moment for leaf in leaves if leaf is not None for moment in leaf.moments]
        values = [
            classical_result(value, call.settings.qnode)
            for value, leaf in zip(returned, leaves, strict=True)
            if leaf is None
        ]
        return [*moments, *values]

    traced = trace(call, finish)
    count = sum(len(leaf.moments) for leaf in leaves if leaf is not None)
    found = traced.beside(find(traced, count))
    moments, values = iter(found[:count]), iter(found[count:])
    results = [
        next(values) if leaf is None else leaf.result([next(moments) for _ in leaf.moments])
        for leaf in leaves
    ]
    return jax.tree_util.tree_unflatten(traced.tree, results)


def _runs(count: int, traced: TracedCircuit) -> list[Any]:
    """Record the loop over all outcomes: averages of the first results, and the others."""
    avals = traced.jaxpr.out_avals
    script = outcome_script_p.bind(mode="tree")

    def run(_: Any, total: Any, *sums: Any) -> Any:
        found = traced.run(script)
        weight = run_weight_p.bind(script)
        added = [old + weight * new for old, new in zip(sums[:count], found[:count], strict=True)]
        return next_run_p.bind(script), total + weight, *added, *found[count:]

    zeros = [jnp.zeros(aval.shape, aval.dtype) for aval in avals]
    start = (next_run_p.bind(script), jnp.zeros((), jnp.float64), *zeros)
    _, total, *results = trace_while_loop(lambda more, *_: more, run, start)
    require_weight_p.bind(script, total)
    end_script_p.bind(script)
    return [*(result / total for result in results[:count]), *results[count:]]


def _refuse_outcomes_as_values(traced: TracedCircuit, count: int) -> None:
    if any(differs(traced.jaxpr)[count:]):
        settings = traced.settings
        raise UnsupportedReturnError(
            function=f"the QNode {settings.qnode}",
            value="a value that depends on mid-circuit outcomes",
            hint=f"with mcm_method={settings.mcm_method!r} and no shots there is none: "
            "return qml.expval or qml.probs of it",
            span=user_span(),
        )


# --- moments -------------------------------------------------------------------------------------


def averaged(leaf: Any, scope: CircuitScope) -> Averaged | None:
    """What a leaf needs; None for a classical value."""
    if isinstance(leaf, Averaged):
        return leaf
    if not isinstance(leaf, MeasurementProcess):
        return None
    with scope.as_from(leaf):
        refuse_samples(leaf)
        if leaf.mv is not None:
            return outcome_moments(leaf, scope)
        rule = _RULES.get(type(leaf))
        if rule is None:
            raise _undefined(leaf)
        return rule(leaf, scope)


def average_snapshot(settings: QNodeSettings, operator: Any, scope: CircuitScope) -> Any:
    """What a snapshot sees, on average over all runs, where there are several so far."""
    if not scope.has_measured or scope.wires.must_be_found_first():
        return measure_snapshot(settings, operator, scope)
    require_taken_once(scope)
    process = operator.hyperparameters["measurement"]
    with AnnotatedQueue(), scope.circuit.reading_exactly():
        return averaged(process, scope)


def _undefined(process: Any) -> UnsupportedMeasurementError:
    reason = "of an average over mid-circuit outcomes is not defined"
    hint = "return qml.density_matrix(wires), or expectation values"
    name = process_name(process)
    return UnsupportedMeasurementError(measurement=name, reason=reason, hint=hint)


def _state(process: Any, scope: CircuitScope) -> Averaged:
    """A density matrix has an average; a state vector has none."""
    if not is_density_matrix(scope.register):
        raise _undefined(process)
    return _linear(process, scope)


def _linear(process: Any, scope: CircuitScope) -> Averaged:
    register = scope.register
    result = partial(in_precision_of, register, process)
    return Averaged([measure_process(process, scope)], lambda moments: result(moments[0]))


def _variance(process: Any, scope: CircuitScope) -> Averaged:
    """The variance of a mixture: of the runs' variances and means."""
    variance = measure_process(process, scope)
    eigenvalues = None if process.obs is not None else process.eigvals()
    wires = None if process.obs is not None else process.wires
    mean = measurements.ExpectationMP(process.obs, wires=wires, eigvals=eigenvalues)
    mean = measure_process(mean, scope)
    moments = [variance + mean**2, mean]
    return Averaged(moments, lambda averages: averages[0] - averages[1] ** 2, "smooth")


def _purity(process: Any, scope: CircuitScope) -> Averaged:
    return Averaged([_reduced(process.wires, scope)], lambda states: purity_of(states[0]), "smooth")


def _entropy(process: Any, scope: CircuitScope) -> Averaged:
    base = process.log_base
    return Averaged(
        [_reduced(process.wires, scope)], lambda states: entropy_of(states[0], base), "spectral"
    )


def _mutual_information(process: Any, scope: CircuitScope) -> Averaged:
    """Of two parts: what their entropies have more than that of both."""
    first, second = process.raw_wires

    def result(states: Sequence[Any]) -> Any:
        one, other, both = (entropy_of(state, process.log_base) for state in states)
        return one + other - both

    parts = [first, second, [*first, *second]]
    return Averaged([_reduced(part, scope) for part in parts], result, "spectral")


def _reduced(labels: Any, scope: CircuitScope) -> Any:
    """The state of some wires."""
    positions = scope.wires.positions(labels, "the density matrix")
    return density_matrix(positions, scope.register)


_RULES: dict[type, Callable[[Any, CircuitScope], Averaged]] = {
    measurements.ExpectationMP: _linear,
    measurements.VarianceMP: _variance,
    measurements.ProbabilityMP: _linear,
    measurements.DensityMatrixMP: _linear,
    measurements.StateMP: _state,
    measurements.PurityMP: _purity,
    measurements.VnEntropyMP: _entropy,
    measurements.MutualInfoMP: _mutual_information,
}


# --- for shifted runs ----------------------------------------------------------------------------


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
