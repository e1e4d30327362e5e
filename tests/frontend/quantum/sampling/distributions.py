"""Exact distributions, and whether statistics of shots agree with them.

Bounds fail once in a million; seeds are fixed, so a right program passes always but for one seed
in a million.
"""

from collections.abc import Mapping

import numpy as np
from scipy import stats

RARE = 1e-6


class Exact:
    """The exact distribution of an observable in a state: values and their probabilities."""

    def __init__(self, values: np.ndarray, probabilities: np.ndarray) -> None:
        rounded = np.round(values, 9)
        self.values, inverse = np.unique(rounded, return_inverse=True)
        self.probabilities = np.bincount(inverse, probabilities)
        self.mean = self.moment(1)
        centred = self.values - self.mean
        self.variance = float(self.probabilities @ centred**2)
        self.fourth = float(self.probabilities @ centred**4)

    def moment(self, power: int) -> float:
        return float(self.probabilities @ self.values**power)

    def check_mean(self, found: float, shots: int) -> None:
        bound = stats.norm.isf(RARE / 2) * np.sqrt(self.variance / shots)
        assert abs(found - self.mean) <= bound + 1e-9, (found, self.mean)

    def check_variance(self, found: float, shots: int) -> None:
        spread = max(self.fourth - self.variance**2, 0) / shots
        bound = stats.norm.isf(RARE / 2) * np.sqrt(spread) + 50 * self.variance / shots
        assert abs(found - self.variance) <= bound + 1e-9, (found, self.variance)

    def check_samples(self, found: np.ndarray) -> None:
        values, numbers = np.unique(np.round(np.asarray(found, float), 9), return_counts=True)
        self.check_counts(dict(zip(values, numbers, strict=True)))

    def check_counts(self, found: Mapping[float, int]) -> None:
        observed = np.zeros(len(self.values))
        for value, number in found.items():
            position = int(np.argmin(abs(self.values - value)))
            assert abs(self.values[position] - value) < 1e-6, f"{value} is no outcome"
            observed[position] += number
        check_frequencies(observed, self.probabilities)


def check_frequencies(observed: np.ndarray, probabilities: np.ndarray) -> None:
    """Chi-square of how often outcomes were found; none of probability zero may be."""
    observed, shots = np.asarray(observed, float), float(np.sum(observed))
    assert not observed[probabilities < 1e-12].any(), "an impossible outcome was found"
    often = probabilities * shots >= 5
    numbers = np.append(observed[often], observed[~often].sum())
    expected = np.append(probabilities[often], probabilities[~often].sum()) * shots
    kept = expected > 1e-9
    if kept.sum() < 2:
        return
    expected = expected[kept] * (numbers[kept].sum() / expected[kept].sum())
    assert stats.chisquare(numbers[kept], expected).pvalue > RARE
