"""Statistics of shots against exact distributions, with bounds that fail once in a million.

Seeds are fixed: a right program passes always, but for one seed in a million tests.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pennylane as qml
import pytest
from scipy import stats

RARE = 1e-6
WIRES = 4


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


def prepare() -> None:
    """A state of four wires without symmetries."""
    for wire in range(WIRES):
        qml.RY(0.3 + 0.4 * wire, wire)
        qml.RX(0.9 - 0.3 * wire, wire)
    for wire in range(WIRES - 1):
        qml.CNOT([wire, wire + 1])
        qml.IsingXY(0.6 + wire, [wire, wire + 1])


@pytest.fixture(scope="session")
def prepared() -> Callable[[], None]:
    return prepare


@pytest.fixture(scope="session")
def final_state() -> np.ndarray:
    @qml.qnode(qml.device("default.qubit", wires=WIRES))
    def circuit():
        prepare()
        return qml.state()

    return np.asarray(circuit())


@pytest.fixture(scope="session")
def exact(final_state: np.ndarray) -> Callable[[qml.operation.Operator], Exact]:
    """The distribution of an observable in the prepared state."""

    def distribution(observable: qml.operation.Operator) -> Exact:
        matrix = qml.matrix(observable, wire_order=range(WIRES))
        values, vectors = np.linalg.eigh(matrix)
        return Exact(values, abs(vectors.conj().T @ final_state) ** 2)

    return distribution


@pytest.fixture(scope="session")
def exact_bits(final_state: np.ndarray) -> Callable[..., np.ndarray]:
    """Probabilities of the outcomes on wires, in their order."""

    def distribution(*wires: int) -> np.ndarray:
        joint = (abs(final_state) ** 2).reshape((2,) * WIRES)
        others = tuple(wire for wire in range(WIRES) if wire not in wires)
        marginal = joint.sum(axis=others)
        return np.transpose(marginal, np.argsort(np.argsort(wires))).reshape(-1)

    return distribution


@pytest.fixture(scope="session")
def frequencies() -> Callable[[np.ndarray, np.ndarray], None]:
    return check_frequencies


@pytest.fixture(scope="session")
def distribution() -> type[Exact]:
    return Exact
