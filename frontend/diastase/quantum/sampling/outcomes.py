"""Statistics of mid-circuit outcomes in one run, without shots.

An outcome is a number in each run, so its expectation value is the outcome itself and its
probabilities are one and zero. Averages over runs are made of moments, which these are.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from pennylane import measurements

from diastase.capture.quantum_errors import UnsupportedMeasurementError
from diastase.quantum.measurements.measurements import process_name
from diastase.quantum.sampling.statistics import one_value, outcome_bits

Moments = tuple[list[Any], Callable[[Sequence[Any]], Any]]
"""What is averaged over runs, and the result as a function of the averages."""


def outcome_statistic(process: Any) -> Any:
    """A measurement process of outcomes in the only run that there is."""
    moments, result = outcome_moments(process)
    return result(moments)


def outcome_moments(process: Any) -> Moments:
    """What a measurement process of outcomes is an average of."""
    rule = _RULES.get(type(process))
    if rule is None:
        raise UnsupportedMeasurementError(
            measurement=process_name(process), reason="of mid-circuit outcomes needs shots"
        )
    return rule(process)


def _expectation(process: Any) -> Moments:
    return [_real(one_value(process))], lambda moments: moments[0]


def _variance(process: Any) -> Moments:
    value = _real(one_value(process))
    return [value**2, value], lambda moments: moments[0] - moments[1] ** 2


def _probabilities(process: Any) -> Moments:
    bits = outcome_bits(process)
    index = jnp.zeros((), jnp.int64)
    for bit in bits:
        index = 2 * index + bit
    return [_real(jnp.arange(2 ** len(bits)) == index)], lambda moments: moments[0]


def _real(value: Any) -> Any:
    return jnp.asarray(value).astype(jnp.float64)


_RULES: dict[type, Callable[[Any], Moments]] = {
    measurements.ExpectationMP: _expectation,
    measurements.VarianceMP: _variance,
    measurements.ProbabilityMP: _probabilities,
}
