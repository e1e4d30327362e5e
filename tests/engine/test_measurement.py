"""Mid-circuit measurement: statistics, collapse, reset, postselection, reproducible outcomes."""

from collections.abc import Callable

import numpy as np
import pytest

from diastase_runtime.abi import ErrorCode

WORD = 2**32 - 1


def philox(counter: int, key: int) -> list[int]:
    """Philox4x32-10 as its authors define it, in plain Python."""
    c = [counter >> (32 * k) & WORD for k in range(4)]
    k0, k1 = key & WORD, key >> 32
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & WORD, (p0 >> 32) ^ c[3] ^ k1, p0 & WORD]
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c


def uniform(counter: int, seed: int) -> float:
    words = philox(counter, seed)
    return ((words[1] << 32 | words[0]) >> 11) * 2.0**-53


def test_reference_gives_the_known_answers() -> None:
    """From the test vectors of Random123, kat_vectors."""
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox(2**128 - 1, 2**64 - 1) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("seed", [0, 1, 2**63 + 12345, 2**64 - 1])
def test_outcomes_follow_the_generator(register: Callable, seed: int) -> None:
    state = register(4, seed=seed)
    state.context.counter = 2**32 - 20
    for k in range(40):
        wire, angle = k % 4, 0.4 + 0.06 * k
        state.measure(wire, reset=True)
        state.gate("RY", (wire,), angle)
        start = state.context.counter
        expected = uniform(start, seed) < np.sin(angle / 2) ** 2
        assert state.measure(wire) == expected
        assert state.context.counter == start + 1


def test_statistics(register: Callable) -> None:
    state, ones, shots = register(1, seed=5), 0, 20000
    for _ in range(shots):
        state.gate("RX", (0,), 1.1)
        ones += state.measure(0, reset=True)
    expected = np.sin(0.55) ** 2
    assert abs(ones / shots - expected) < 5 * np.sqrt(expected * (1 - expected) / shots)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("qubits", [1, 2, 3, 5, 6])
def test_collapse(register: Callable, qubits: int, reset: bool) -> None:
    for wire in range(qubits):
        state = register(qubits, seed=wire)
        for each in range(qubits):
            state.gate("RY", (each,), 0.7 + 0.3 * each)
        for each in range(qubits - 1):
            state.gate("SWAP", (each, each + 1))
            state.gate("IsingXX", (each, each + 1), 0.9)
        before = np.moveaxis(state.amplitudes.reshape((2,) * qubits), wire, 0)
        outcome = state.measure(wire, reset=reset)
        after = np.moveaxis(state.amplitudes.reshape((2,) * qubits), wire, 0)
        kept = 0 if reset else outcome
        norm = np.linalg.norm(before[outcome])
        np.testing.assert_allclose(after[kept], before[outcome] / norm, atol=state.within(1e-14))
        np.testing.assert_array_equal(after[1 - kept], 0)
        if not reset:
            assert state.measure(wire) == outcome


@pytest.mark.parametrize("outcome", [0, 1])
def test_postselection(register: Callable, outcome: int) -> None:
    state = register(2)
    state.gate("RY", (0,), 0.01)
    state.gate("CNOT", (0, 1))
    assert state.measure(0, postselect=outcome) == outcome
    assert state.context.counter == 0
    np.testing.assert_allclose(
        state.probabilities([1]), np.eye(2)[outcome], atol=state.within(1e-15)
    )


def test_impossible_postselection(register: Callable) -> None:
    state = register(2)
    for _ in range(2):
        state.gate("Hadamard", (1,))
    state.measure(1, postselect=1)
    code, site, detail = state.error
    assert (code, site, detail[:2]) == (ErrorCode.IMPOSSIBLE_POSTSELECTION, 7, [1, 1])


def test_certain_outcomes(register: Callable) -> None:
    state = register(3)
    state.gate("PauliX", (1,))
    assert [state.measure(wire) for wire in (0, 1, 2) for _ in range(50)] == [0] * 50 + [1] * 50 + [
        0
    ] * 50
