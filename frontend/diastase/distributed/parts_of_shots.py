"""Shots of a compiled QNode in parts: calls of the same circuit with fewer shots each.

In: a `qjit` of a QNode, or of a derivative of one, and how many shots a part has. Out: a function,
compiled likewise, which returns for each measurement what parts are merged of; and from results of
all parts that of all shots, as the QNode returns it.

    expval, probs   a mean, of which the mean is taken; their derivatives, linear in them, likewise
    var             mean and variance of the values, which give those of all
    sample          the samples, one after the other
    counts          outcomes and how often each was found, one after the other

What else a QNode returns is refused, and circuits whose shots are not alike: where shots that miss
are dropped, or all are conditioned on the outcomes of one run, a part says something else than the
same shots among others do.

The trap: which measurements there are is seen while the circuit is traced, so `rules` are there
once the function is compiled.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from pennylane import measurements
from pennylane.measurements import MeasurementProcess

from diastase.api.gradients import differentiated
from diastase.capture.pennylane_compat import is_quantum_object, transform_name
from diastase.capture.regions import current_scope
from diastase.jit.qjit import QJIT
from diastase.quantum.measurements.counts import Counts, is_counts
from diastase.quantum.measurements.measurements import process_name
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.settings.circuit_passes import steps_of
from diastase_mlir import span_of
from diastase_runtime.arrays.counts import CountsForm, Found
from diastase_runtime.distributed.errors import UnsharedShotsError
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.autograph import functions as with_autograph
    from diastase.autograph.operators import calls
else:
    calls = LazyModule("diastase.autograph.operators.calls")
    with_autograph = LazyModule("diastase.autograph.functions")

_SHOTS = 1000
"""Of which no second part is made: each part runs the circuit, which takes longer than to draw so
few. Of several parts each has at least half as many."""
_PARTS = 32
"""Of one element, at most."""


class Cut(NamedTuple):
    """How shots are cut into parts: by their number alone."""

    parts: int
    shots: int
    """Of each part."""
    rest: int
    """Of one more part; 0 where there is none."""


def cut(shots: int) -> Cut:
    """Parts of equal size, for which one program serves; where there are none, and what is left."""
    most = min(_PARTS, -(-shots // _SHOTS))
    for parts in range(most, (most - 1) // 2, -1):
        if shots % parts == 0:
            return Cut(parts, shots // parts, 0)
    return Cut(most, shots // most, shots % most)


Values = Sequence[tuple[Any, int]]
"""Of one measurement: arrays `[element, part, …]`, and how many shots each of their parts has."""


@dataclass(frozen=True)
class Rule:
    """How results of one measurement are merged."""

    of_part: Callable[[Any], Any]
    """From the result of a part to what is merged; traced."""
    merged: Callable[[Values], Any]


@dataclass
class PartOfShots:
    """A QNode with the shots of a part, compiled."""

    compiled: QJIT
    tree: Any = None
    """The structure of what the QNode returns, with counts as leaves."""
    rules: list[Rule] = field(default_factory=list)

    def merged(self, found: Sequence[tuple[Any, Cut]]) -> Any:
        """What the QNode returns for all shots, of each element, from what maps of parts gave."""
        leaves: list[Any] = []
        for number, rule in enumerate(self.rules):
            values = [
                (_with_parts(results[number], part.parts), part.shots) for results, part in found
            ]
            leaves.append(rule.merged(values))
        return jax.tree.unflatten(self.tree, leaves)


def _with_parts(values: Any, parts: int) -> Any:
    return jax.tree.map(lambda value: value[:, None], values) if parts == 1 else values


def part_of_shots(function: QJIT, shots: int) -> PartOfShots:
    """Compile a QNode with so many shots, when it is called; raises for what is no QNode."""
    name, options = function.signature.name, function.compile_options
    function.programs.made.refuse_if_replaced(name)
    qnode: Any = function.original_function
    derivative = differentiated(qnode)
    if derivative is not None:
        qnode = derivative.function
    _check(qnode, name, is_differentiated=derivative is not None)
    if options.autograph:
        qnode = with_autograph.with_autograph(qnode, options.autograph_include)
    circuit: Any = qml.set_shots(qnode, shots=shots)
    reading = _Reading(name, circuit, options.counts, derivative is not None)
    of_circuit, rules = circuit.func, list[Rule]()

    @functools.wraps(of_circuit)
    def body(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten(of_circuit(*args, **kwargs), is_leaf=is_quantum_object)
        rules[:] = map(reading.rule, leaves)
        return jax.tree.unflatten(tree, map(_measured, leaves))

    circuit.func = body
    run: Any = circuit if derivative is None else derivative.again(circuit)

    @functools.wraps(qnode, updated=())
    def part(*args: Any, **kwargs: Any) -> Any:
        for transform in steps_of(circuit).transforms:
            reason = f"{transform_name(transform)} computes its results of those of other circuits"
            raise UnsharedShotsError(function=name, reason=reason)
        leaves, made.tree = jax.tree.flatten(run(*args, **kwargs), is_leaf=is_counts)
        made.rules = list(rules) if derivative is None else [_AVERAGE] * len(leaves)
        if len(leaves) != len(made.rules):
            raise UnsharedShotsError(function=name, reason="it returns snapshots")
        return [rule.of_part(leaf) for rule, leaf in zip(made.rules, leaves, strict=True)]

    # What AutoGraph converts is converted above.
    made = PartOfShots(function.like(calls.mark(part) if options.autograph else part))
    return made


def _check(qnode: Any, name: str, *, is_differentiated: bool) -> None:
    if not isinstance(qnode, qml.QNode):
        reason = f"shots= are those of a QNode, qjit(circuit), and this is a {type(qnode).__name__}"
    elif qnode.shots.has_partitioned_shots:
        reason = "the QNode has a shot vector, whose results are several"
    elif is_differentiated and qnode.diff_method in ("spsa", qml.gradients.spsa_grad):
        reason = "by spsa, each part has directions of its own"
    else:
        return
    raise UnsharedShotsError(function=name, reason=reason)


# --- measurements --------------------------------------------------------------------------------


def _measured(leaf: Any) -> Any:
    """What a part measures instead: values, whose mean and variance are wanted."""
    if not isinstance(leaf, measurements.VarianceMP):
        return leaf
    return qml.sample(leaf.obs if leaf.mv is None else leaf.mv)


class _Reading(NamedTuple):
    """A circuit whose function has returned, and is not measured yet."""

    function: str
    qnode: qml.QNode
    counts: CountsForm
    is_differentiated: bool

    def rule(self, leaf: Any) -> Rule:
        """How results of a measurement are merged; raises where that is not possible."""
        if not isinstance(leaf, MeasurementProcess):
            raise self._refused(leaf, "what it returns beside its measurements cannot be merged")
        self._refuse_unlike_shots(leaf)
        match leaf:
            case measurements.ExpectationMP() | measurements.ProbabilityMP():
                return _AVERAGE
            case _ if self.is_differentiated:
                reason = f"derivatives of {process_name(leaf)} are no averages over shots"
                raise self._refused(leaf, reason)
            case measurements.VarianceMP() if leaf.obs is not None or leaf.mv is not None:
                return Rule(_moments, _variance)
            case measurements.SampleMP():
                is_row = isinstance(leaf.mv, list) or (leaf.mv is None and leaf.eigvals() is None)
                return Rule(_unchanged, functools.partial(_joined, axis=-2 if is_row else -1))
            case measurements.CountsMP():
                return _rule_of_counts(self, leaf)
            case _:
                reason = f"results of {process_name(leaf)} cannot be merged"
                raise self._refused(leaf, reason)

    def _refuse_unlike_shots(self, leaf: Any) -> None:
        scope, asked = current_scope(), self.qnode.execute_kwargs
        if not isinstance(scope, CircuitScope):
            return  # of a device in Python, which no saved program has
        if scope.circuit.postselects and asked.get("postselect_mode") != "fill-shots":
            reason = "it drops shots that are not postselected, except by 'fill-shots'"
            raise self._refused(leaf, reason)
        if scope.circuit.measures and asked.get("mcm_method") == "single-branch-statistics":
            raise self._refused(leaf, "by 'single-branch-statistics' a part has its own outcomes")

    def _refused(self, leaf: Any, reason: str) -> UnsharedShotsError:
        scope, span = current_scope(), None
        if isinstance(scope, CircuitScope):
            places = [place for made, place in scope.queue.recorded() if made is leaf]
            span = span_of(places[0].source_info) if places else None
        return UnsharedShotsError(function=self.function, reason=reason, span=span)


def _unchanged(result: Any) -> Any:
    return result


def _mean(values: Values) -> Any:
    first = values[0][0]
    if len(values) == 1 and first.shape[1] == 1:
        return first[:, 0]
    sums = [array.sum(1, dtype=np.float64) * shots for array, shots in values]
    number = sum(array.shape[1] * shots for array, shots in values)
    return (np.sum(sums, 0) / number).astype(first.dtype)


_AVERAGE = Rule(_unchanged, _mean)


def _moments(values: Any) -> Any:
    values = jnp.asarray(values, float)
    return jnp.mean(values, -1), jnp.var(values, -1)


def _variance(values: Values) -> Any:
    """That of all: the mean variance within parts, and the variance of their means."""
    mean = _mean([(means, shots) for (means, _), shots in values])
    within = _mean([(variances, shots) for (_, variances), shots in values])
    between = _mean([((means - mean[:, None]) ** 2, shots) for (means, _), shots in values])
    return within + between


def _joined(values: Values, axis: int) -> Any:
    arrays = [array[:, part] for array, _ in values for part in range(array.shape[1])]
    return np.concatenate(arrays, axis)


def _rule_of_counts(reading: _Reading, process: Any) -> Rule:
    kinds: list[tuple[int | None, bool]] = []

    def of_part(counts: Counts) -> Any:
        kinds[:] = [(counts.width, counts.all_outcomes)]
        if reading.counts == "arrays" and counts.width is None and counts.traced_width is None:
            raise UnsharedShotsError(
                function=reading.function,
                reason="parts count different values: use qjit(counts='dict')",
            )
        width = [] if counts.traced_width is None else [counts.traced_width]
        return counts.outcomes, counts.numbers, width

    def merged(values: Values) -> Any:
        ((width, all_outcomes),) = kinds
        outcomes, numbers = (
            _joined([(arrays[place], shots) for arrays, shots in values], -1) for place in (0, 1)
        )
        traced = values[0][0][2]
        found = Found(outcomes, numbers, width, all_outcomes, traced[0][:, 0] if traced else None)
        return found.to_dict() if reading.counts == "dict" else found.to_arrays()

    return Rule(of_part, merged)
