"""From a measurement process to what it needs of each shot, and to the statistic of the shots.

`prepare` looks at one process: it asks for outcomes (`Requests`) and returns a function of the
`Shots` that were then drawn. Shapes and dtypes are PennyLane's: `sample` of wires or of a list of
outcomes has a row for each shot, everything else with an observable a number for each shot.

Without shots there is one run, in which a mid-circuit outcome is a number: its expectation value is
the outcome itself, its probabilities are one and zero (`outcome_statistic`). Averages over runs are
made of these moments (`outcome_moments`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from pennylane import measurements
from pennylane.measurements import MeasurementProcess

from diastase.capture.quantum_errors import UnsupportedMeasurementError
from diastase.quantum.measurements.counts import Counts, counted_bits, counted_wires, histogram
from diastase.quantum.measurements.measurements import process_name, refuse_samples
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.read_outcomes import read, reads, reads_of_all, refuse_computed
from diastase.quantum.qnode.sampled_observables import (
    Eigenbasis,
    Factors,
    as_factors,
    eigenbasis,
    real_vector,
)
from diastase.quantum.qnode.samples import Outcomes, Shots
from diastase.quantum.qnode.sampling_plan import Requests
from diastase.quantum.qnode.shadows import classical_shadow, shadow_expectation

Statistic = Callable[[Shots], Any]
"""The result of a measurement: an array, or a pytree of arrays."""


@dataclass(frozen=True)
class Variance:
    """The variance over the shots: a statistic that is no average, but made of two."""

    values: Callable[[Shots], Any]

    def __call__(self, shots: Shots) -> Any:
        """The variance."""
        return jnp.var(self.values(shots))

    def parts(self, shots: Shots) -> "VarianceParts":
        """The variance, and the averages that it is made of."""
        values = self.values(shots)
        return VarianceParts(jnp.var(values), jnp.mean(values), jnp.mean(values * values))


@dataclass(frozen=True)
class VarianceParts:
    """A variance that is to be differentiated by the averages that it is made of."""

    value: Any
    mean: Any
    square: Any

    def differentiable(self) -> Any:
        """The value, with the derivatives of the averages."""
        same = self.square - self.mean**2
        return jax.lax.stop_gradient(self.value) + (same - jax.lax.stop_gradient(same))


jax.tree_util.register_dataclass(
    VarianceParts, data_fields=["value", "mean", "square"], meta_fields=[]
)


def prepare(process: MeasurementProcess, requests: Requests) -> Statistic:
    """Ask for what a measurement process needs; its result as a function of the shots."""
    rules = _RULES
    if process.mv is not None:
        refuse_computed(process, requests.scope)
        rules = _OF_OUTCOMES
    rule = rules.get(type(process))
    if rule is None:
        raise _unsupported(process, "is a property of the exact state, which shots do not give")
    return rule(process, requests)


# --- of wires and observables --------------------------------------------------------------------


def _expectation(process: Any, requests: Requests) -> Statistic:
    if process.obs is None:
        return _given_eigenbasis(process, requests).mean
    factors = as_factors(process.obs, requests)
    return eigenbasis(process.obs, requests).mean if factors is None else factors.mean


def _variance(process: Any, requests: Requests) -> Statistic:
    return Variance(_values(process, requests))


def _sample(process: Any, requests: Requests) -> Statistic:
    dtype = getattr(process, "_dtype", None)
    if process.obs is None and process.eigvals() is None:
        wires = _wires(process, requests)
        return lambda shots: _as(shots.bits(wires), dtype)
    values = _values(process, requests)
    return lambda shots: _as(values(shots), dtype)


def _probabilities(process: Any, requests: Requests) -> Statistic:
    basis = eigenbasis(process.obs, requests) if process.obs is not None else None
    wires = basis.outcomes if basis else _wires(process, requests)
    number = requests.scope.wires.states if wires.whole else 2 ** len(wires.places)
    return lambda shots: shots.packed[wires.group].frequencies(shots.index(wires), number)


def _counts(process: Any, requests: Requests) -> Statistic:
    every = process.all_outcomes
    if process.obs is None and process.eigvals() is not None:
        given = _given_eigenbasis(process, requests)
        return lambda shots: _counted_eigenvalues(given, shots, every)
    if process.obs is None:
        wires = _wires(process, requests)
        if wires.whole:
            return lambda shots: counted_wires(shots.index(wires), shots.count(wires), every)
        width = len(wires.places)
        return lambda shots: counted_bits(shots.index(wires), width, every)
    factors = as_factors(process.obs, requests, joint=True)
    if factors is not None and len(factors.words) == 1:
        return lambda shots: _counted_word(factors, shots, every)
    if factors is not None and not every:
        return lambda shots: _counted_values(factors.values(shots))
    basis = eigenbasis(process.obs, requests)
    return lambda shots: _counted_eigenvalues(basis, shots, every)


def _counted_values(values: Any) -> Counts:
    return Counts(values, jnp.ones(values.shape, jnp.int64))


def _counted_word(word: Factors, shots: Shots, every: bool) -> Counts:
    """The two eigenvalues of a Pauli word; one of a word of identities."""
    coefficient, odd = shots.constant(word.coefficients)[0], word.is_odd(shots)
    outcomes = coefficient * np.array([1.0, -1.0] if word.words[0].places else [1.0])
    numbers = histogram(odd, 2)[: len(outcomes)]
    return Counts(jnp.asarray(outcomes), numbers, None, every)


def _counted_eigenvalues(basis: Eigenbasis, shots: Shots, every: bool) -> Counts:
    numbers = histogram(shots.index(basis.outcomes), 2 ** len(basis.outcomes.places))
    return Counts(jnp.asarray(shots.constant(basis.eigenvalues)), numbers, None, every)


def _values(process: Any, requests: Requests) -> Callable[[Shots], Any]:
    """The eigenvalue of an observable in each shot."""
    if process.obs is None:
        return _given_eigenbasis(process, requests).values
    factors = as_factors(process.obs, requests, joint=True)
    return eigenbasis(process.obs, requests).values if factors is None else factors.values


def _wires(process: Any, requests: Requests) -> Outcomes:
    """The wires that are measured; all where none are named."""
    scope = requests.scope
    if len(process.wires) == 0 and scope.wires.traced is not None:
        return requests.everything()
    if len(process.wires) == 0:
        positions: Sequence[Any] = range(scope.wires.number)
    else:
        positions = scope.wires.positions(process.wires, process_name(process))
    return requests.word("Z" * len(positions), tuple(positions), process_name(process))


def _given_eigenbasis(process: Any, requests: Requests) -> Eigenbasis:
    """Eigenvalues that the process itself names, of wires: PennyLane's transforms make those."""
    eigenvalues = process.eigvals()
    if eigenvalues is None:
        raise _unsupported(process, "has no observable")
    wires = _wires(process, requests)
    return Eigenbasis(wires, requests.constant(real_vector(eigenvalues), process))


def _as(values: Any, dtype: Any) -> Any:
    return values if dtype is None else values.astype(dtype)


# --- of mid-circuit outcomes ---------------------------------------------------------------------


def _outcome_expectation(process: Any, requests: Requests) -> Statistic:
    number = _outcome(_one_value(process), requests)
    return lambda shots: jnp.mean(_real(shots.values[number]))


def _outcome_variance(process: Any, requests: Requests) -> Statistic:
    number = _outcome(_one_value(process), requests)
    return Variance(lambda shots: _real(shots.values[number]))


def _outcome_sample(process: Any, requests: Requests) -> Statistic:
    if isinstance(process.mv, list):
        numbers = [_outcome(value, requests) for value in process.mv]
        return lambda shots: jnp.stack(
            [_number(shots.values[number]) for number in numbers], axis=-1
        )
    number = _outcome(process.mv, requests)
    return lambda shots: _number(shots.values[number])


def _outcome_probabilities(process: Any, requests: Requests) -> Statistic:
    numbers = [_outcome(value, requests) for value in _outcome_bits(process)]

    def probabilities(shots: Shots) -> Any:
        bits = [shots.values[number] for number in numbers]
        return histogram(_packed(bits), 2 ** len(bits)) / bits[0].shape[0]

    return probabilities


def _outcome_counts(process: Any, requests: Requests) -> Statistic:
    every = process.all_outcomes
    if isinstance(process.mv, list):
        numbers = [_outcome(value, requests) for value in _outcome_bits(process)]
        return lambda shots: counted_bits(
            _packed([shots.values[number] for number in numbers]), len(numbers), every
        )
    number = _outcome(process.mv, requests)
    if process.mv.dtype == bool:
        outcomes = np.arange(2)
        return lambda shots: Counts(
            jnp.asarray(outcomes), histogram(_number(shots.values[number]), 2), None, every
        )
    if every:
        reason = "of arithmetic on outcomes cannot list all outcomes: which there are is not known"
        raise _unsupported(process, reason)
    return lambda shots: _counted_values(shots.values[number])


def _outcome(value: Any, requests: Requests) -> int:
    """The number of an outcome, or of what is computed of outcomes, as it is read."""
    return requests.value(value if requests.scope.circuit.readout == 0 else read(value), value)


def _packed(bits: Sequence[Any]) -> Any:
    """Bits, or one array of them for each place, as one integer for all places."""
    total = jnp.zeros_like(bits[0], jnp.int64)
    for bit in bits:
        total = 2 * total + bit
    return total


def _one_value(process: Any) -> Any:
    """The outcome, or arithmetic on outcomes, that is measured; not a list."""
    if isinstance(process.mv, list):
        raise _unsupported(process, "takes one outcome, not a list of them")
    return process.mv


def _outcome_bits(process: Any) -> list[Any]:
    """The outcomes that are measured, each of them 0 or 1."""
    values = process.mv if isinstance(process.mv, list) else [process.mv]
    for value in values:
        if value.dtype != bool:
            reason = f"needs outcomes, or truth values made of them, not {value.aval.str_short()}"
            raise _unsupported(process, reason)
    return values


def _real(values: Any) -> Any:
    return jnp.asarray(values).astype(jnp.float64)


def _number(values: Any) -> Any:
    return values.astype(jnp.int64) if values.dtype == bool else values


def _unsupported(process: Any, reason: str) -> UnsupportedMeasurementError:
    return UnsupportedMeasurementError(measurement=process_name(process), reason=reason)


_RULES: dict[type, Callable[[Any, Requests], Statistic]] = {
    measurements.ExpectationMP: _expectation,
    measurements.VarianceMP: _variance,
    measurements.ProbabilityMP: _probabilities,
    measurements.SampleMP: _sample,
    measurements.CountsMP: _counts,
    measurements.ClassicalShadowMP: classical_shadow,
    measurements.ShadowExpvalMP: shadow_expectation,
}
_OF_OUTCOMES: dict[type, Callable[[Any, Requests], Statistic]] = {
    measurements.ExpectationMP: _outcome_expectation,
    measurements.VarianceMP: _outcome_variance,
    measurements.ProbabilityMP: _outcome_probabilities,
    measurements.SampleMP: _outcome_sample,
    measurements.CountsMP: _outcome_counts,
}


# --- of mid-circuit outcomes in one run ----------------------------------------------------------


@dataclass(frozen=True)
class Averaged:
    """One measurement: what is averaged over runs, and what the result is of the averages."""

    moments: list[Any]
    result: Callable[[Sequence[Any]], Any]
    form: Literal["average", "smooth", "spectral"] = "average"
    """Whether it is the average itself, or has derivatives by them everywhere, or where they are
    not singular."""


def outcome_statistic(process: Any, scope: CircuitScope) -> Any:
    """A measurement process of outcomes in the only run that there is."""
    averaged = outcome_moments(process, scope)
    return averaged.result(averaged.moments)


def outcome_moments(process: Any, scope: CircuitScope) -> Averaged:
    """What a measurement process of outcomes is an average of."""
    refuse_samples(process)
    refuse_computed(process, scope)
    rule = _MOMENTS.get(type(process))
    if rule is None:
        raise _unsupported(process, "of mid-circuit outcomes is not compiled")
    return rule(process, scope.circuit.readout)


def _expectation_moments(process: Any, flip: Any) -> Averaged:
    return Averaged([reads(_real(_one_value(process)), flip)], lambda moments: moments[0])


def _variance_moments(process: Any, flip: Any) -> Averaged:
    value = _real(_one_value(process))
    moments = [reads(value**2, flip), reads(value, flip)]
    return Averaged(moments, lambda moments: moments[0] - moments[1] ** 2, "smooth")


def _probability_moments(process: Any, flip: Any) -> Averaged:
    bits = _outcome_bits(process)
    is_found = _real(jnp.arange(2 ** len(bits)) == _packed(bits))
    return Averaged([reads_of_all(is_found, flip, len(bits))], lambda moments: moments[0])


_MOMENTS: dict[type, Callable[[Any, Any], Averaged]] = {
    measurements.ExpectationMP: _expectation_moments,
    measurements.VarianceMP: _variance_moments,
    measurements.ProbabilityMP: _probability_moments,
}
