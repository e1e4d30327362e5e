"""Samples drawn on a GPU that is none (`emulated_gpu`), which copies no amplitudes.

The reference is NumPy for what may be drawn and how often; for which shot is which, the processor's
engine, given the same amplitudes, whose own tests have independent references.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy import stats

from diastase_runtime.abi import ErrorCode
from emulated_gpu import EmulatedGpu

RARE = 1e-6
RANDOM = np.random.default_rng(3)


@pytest.fixture
def register(gpu_register: Callable) -> Callable:
    return gpu_register


@pytest.fixture
def on_host(gpu: EmulatedGpu, registers: Callable, engines: Callable) -> Callable:
    return partial(registers, engines("single" if gpu.name == "single" else "double"))


def some_state(qubits: int) -> np.ndarray:
    """Random amplitudes, many of them zero, and whole chunks, also the last one."""
    vector = RANDOM.normal(size=(2**qubits, 2)) @ [1, 1j]
    vector[RANDOM.random(2**qubits) < 0.4] = 0
    if qubits > 11:
        chunks = vector.reshape(-1, 2**11)
        chunks[RANDOM.random(len(chunks)) < 0.3] = 0
        chunks[-1] = 0
    vector[1] = 1
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("qubits", "wires"),
    [
        (1, ()),
        (2, (1,)),
        (3, ()),
        (4, (3, 0, 3)),
        (9, (2, 8)),
        (12, ()),
        (15, (0, 14, 1)),
        (15, ()),
    ],
)
def test_which_shot_is_which(
    register: Callable, on_host: Callable, qubits: int, wires: tuple[int, ...]
) -> None:
    vector, shots = some_state(qubits), 5000
    found: list[np.ndarray] = []
    for make in (register, on_host):
        state = make(qubits, seed=qubits)
        state.prepare_wires(vector, range(qubits))
        state.gate("PauliX", [0])
        if qubits > 1:
            state.gate("SWAP", [0, qubits - 1])
        found += [state.sample(wires, shots), state.sample(wires, 1)]
        assert state.error[0] == 0
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])
    weights = state.probabilities(wires) if len(set(wires)) == len(wires) else None
    if weights is not None:
        assert (weights[found[0]] > 0).all()


@pytest.mark.parametrize("qubits", [3, 13])
def test_how_often(register: Callable, qubits: int) -> None:
    """More shots than one launch has."""
    state, shots = register(qubits, seed=8), 300_000
    vector = some_state(qubits)
    state.prepare_wires(vector, range(qubits))
    state.gate("Hadamard", [qubits - 1])
    pairs = vector.reshape(-1, 2) @ np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    expected = np.abs(pairs.ravel()) ** 2 * shots
    counts = np.bincount(state.sample((), shots), minlength=2**qubits)
    often = expected > 5
    counts = np.append(counts[often], counts[~often].sum())
    expected = np.append(expected[often], expected[~often].sum())
    kept = expected > 0
    assert not counts[~kept].any()
    scaled = expected[kept] * (shots / expected[kept].sum())
    assert stats.chisquare(counts[kept], scaled).pvalue > RARE


@pytest.mark.parametrize("last", [0, 1, 2**11 - 1, 2**11, 5000, 2**13 - 1])
def test_impossible_outcomes_are_never_drawn(register: Callable, last: int) -> None:
    """Weights so unequal that sums do not grow by most of them."""
    vector = np.zeros(2**13)
    places = np.unique(np.linspace(0, last, 40).astype(int))
    vector[places] = 10.0 ** -np.arange(len(places))
    for turned in (vector, vector[::-1].copy()):
        state = register(13, seed=2)
        state.prepare_wires(turned / np.linalg.norm(turned), range(13))
        samples = state.sample((), 20_000)
        assert (turned[samples] > 0).all()
        assert np.bincount(samples).argmax() == np.argmax(turned)


def test_no_amplitudes_are_copied(register: Callable) -> None:
    state, shots = register(14, seed=1), 100
    for wire in range(14):
        state.gate("RY", [wire], 0.3 + wire)
    state.probabilities([0])
    there, back = state.context.to_device, state.context.to_host
    state.sample((), shots)
    chunks = 2**14 // 2**11
    assert state.context.to_device - there == 8 * (chunks + 14 + shots)
    assert state.context.to_host - back == 8 * (chunks + shots)


def test_a_state_that_is_no_number(register: Callable) -> None:
    state = register(3)
    state.gate("RX", [0], float("nan"))
    assert not state.sample((), 10).any()
    assert state.error[:2] == (ErrorCode.NOT_A_NUMBER, 7)


def test_too_little_memory(gpu: EmulatedGpu, register: Callable) -> None:
    state = register(3)
    gpu.settings(limit=gpu.settings() + (1 << 16))
    assert not state.sample((), 50_000).any()
    code, site, _ = state.error
    assert (code, site) == (ErrorCode.OUT_OF_MEMORY, 7)


@pytest.mark.parametrize("failing", range(1, 14))
def test_whatever_fails_is_an_error(gpu: EmulatedGpu, register: Callable, failing: int) -> None:
    state = register(3)
    state.gate("Hadamard", [0])
    gpu.settings(failing=failing, failure=719)
    samples = state.sample((), 10)
    assert not samples.any()
    code, site, detail = state.error
    assert (code, site, detail[0]) == (ErrorCode.GPU_FAILED, 7, 719)
    gpu.settings()
    state.release()
    assert gpu.settings() == 0
    state.state = None
