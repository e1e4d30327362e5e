"""Samples of a state: chi-square against its probabilities, order, wires, bad input."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from diastase_runtime.abi import ErrorCode

RARE = 1e-6
"""Chance that a right program fails a test; seeds are fixed, so it passes always or never."""


def entangled(state, qubits: int) -> None:
    for wire in range(qubits):
        state.gate("RY", (wire,), 0.4 + 0.5 * wire)
    for wire in range(qubits - 1):
        state.gate("CNOT", (wire, wire + 1))
        state.gate("IsingXY", (wire, wire + 1), 0.7)


def chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """The chance of counts at least so far off, for outcomes that are expected often enough."""
    shots = counts.sum()
    assert not counts[probabilities < 1e-14].any()
    often = probabilities * shots >= 5
    observed = np.append(counts[often], counts[~often].sum())
    expected = np.append(probabilities[often], probabilities[~often].sum()) * shots
    kept = expected > 0
    return stats.chisquare(observed[kept], expected[kept] * (shots / expected[kept].sum())).pvalue


@pytest.mark.parametrize("qubits", [1, 2, 3, 4, 6, 9])
def test_distribution(register: Callable, qubits: int) -> None:
    state = register(qubits, seed=17 + qubits)
    entangled(state, qubits)
    if qubits > 1:
        state.gate("SWAP", (0, qubits - 1))
    samples = state.sample((), 50_000)
    counts = np.bincount(samples, minlength=2**qubits)
    assert chi_square(counts, state.probabilities()) > RARE


def test_some_wires_in_their_order(register: Callable) -> None:
    state = register(6, seed=3)
    entangled(state, 6)
    wires = (4, 0, 3)
    samples = state.sample(wires, 50_000)
    assert chi_square(np.bincount(samples, minlength=8), state.probabilities(wires)) > RARE
    repeated = state.sample((2, 5, 2), 1000)
    np.testing.assert_array_equal(repeated & 1, repeated >> 2)


def test_state_stays_as_it_is(register: Callable) -> None:
    state = register(4, seed=1)
    entangled(state, 4)
    before = state.amplitudes
    state.sample((0, 1), 100)
    np.testing.assert_array_equal(state.amplitudes, before)


def test_impossible_outcomes_are_never_drawn(register: Callable) -> None:
    """Half of the amplitudes are zero, the others as unequal as amplitudes get."""
    state = register(7, seed=5)
    vector = np.zeros(128)
    vector[1::2] = 10.0 ** -np.arange(64)
    state.prepare(vector / np.linalg.norm(vector))
    samples = state.sample((), 100_000)
    assert (samples % 2 == 1).all()
    assert (samples < 32).all()


def test_shots_are_independent(register: Callable) -> None:
    """Neighbours, and the two halves, of a sequence of coin flips are uncorrelated."""
    state = register(1, seed=11)
    state.gate("Hadamard", (0,))
    samples = state.sample((), 100_000)
    pairs = np.bincount(2 * samples[:-1] + samples[1:], minlength=4)
    assert stats.chisquare(pairs).pvalue > RARE
    halves = 2 * samples[:50_000] + samples[50_000:]
    assert stats.chisquare(np.bincount(halves, minlength=4)).pvalue > RARE
    runs = 1 + np.count_nonzero(np.diff(samples))
    assert abs(runs - 50_000) < stats.norm.isf(RARE / 2) * np.sqrt(25_000)


def test_first_shot_alone(register: Callable) -> None:
    """One shot at a time is distributed as many are, and follows from seed and counter."""
    state = register(3, seed=23)
    entangled(state, 3)
    counts = np.zeros(8, int)
    for _ in range(5000):
        counts[state.sample((), 1)[0]] += 1
    assert chi_square(counts, state.probabilities()) > RARE
    again = register(3, seed=23)
    entangled(again, 3)
    np.testing.assert_array_equal(
        [again.sample((), 1)[0] for _ in range(50)],
        [_fresh(register, 23, 50)[k] for k in range(50)],
    )


def _fresh(register: Callable, seed: int, count: int) -> list[int]:
    state = register(3, seed=seed)
    entangled(state, 3)
    return [state.sample((), 1)[0] for _ in range(count)]


@pytest.mark.parametrize("shots", [0, -1, -(2**62)])
def test_invalid_shots(register: Callable, shots: int) -> None:
    state = register(2)
    state.sample((), shots)
    assert state.error == (ErrorCode.INVALID_SHOTS, 7, [shots, 0, 0, 0])


@pytest.mark.parametrize("wire", [-1, 2, 2**40])
def test_bad_wire(register: Callable, wire: int) -> None:
    state = register(2)
    samples = state.sample((0, wire), 10)
    assert state.error == (ErrorCode.WIRE_OUT_OF_RANGE, 7, [wire, 2, 0, 0])
    assert (samples == 0).all()
