"""State preparation and projectors on a GPU that is emulated, against NumPy, and what is copied."""

from collections.abc import Callable

import numpy as np
import pytest

from diastase_engine.state_vector.device.operators import MOST_PROJECTED, PIECE
from diastase_runtime.abi import ErrorCode
from emulated_gpu import EmulatedGpu

WIRES = [
    (1, (0,)), (3, (2,)), (3, (1, 0)), (5, (4, 0, 2)), (9, (8,)), (10, (3, 9, 0, 5)),
    (11, (7, 2, 10, 0, 1, 9, 4, 3, 6)), (11, tuple(range(11))), (4, ()),
]  # fmt: skip
"""Qubits, and some of their wires."""


@pytest.fixture
def register(gpu_register: Callable) -> Callable:
    return gpu_register


def random_vector(count: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng([count, seed])
    return generator.normal(size=1 << count) + 1j * generator.normal(size=1 << count)


def with_first(vector: np.ndarray, wires: tuple[int, ...]) -> np.ndarray:
    """A row for each value of these wires."""
    qubits = len(vector).bit_length() - 1
    tensor = np.moveaxis(vector.reshape((2,) * qubits), wires, range(len(wires)))
    return tensor.reshape(1 << len(wires), -1)


def in_order(rows: np.ndarray, wires: tuple[int, ...]) -> np.ndarray:
    qubits = rows.size.bit_length() - 1
    return np.moveaxis(rows.reshape((2,) * qubits), range(len(wires)), wires).ravel()


@pytest.mark.parametrize(("qubits", "wires"), WIRES)
def test_wires_are_given_amplitudes(
    register: Callable, qubits: int, wires: tuple[int, ...]
) -> None:
    given, others = random_vector(len(wires), 1), qubits - len(wires)
    rest = tuple(wire for wire in range(qubits) if wire not in wires)
    before = random_vector(others, 2)
    state = register(qubits)
    if qubits > 1:
        state.gate("SWAP", (0, qubits - 1))  # renames wires
    state.prepare_wires(before, rest)
    back = state.context.to_host
    state.prepare_wires(given, wires)
    assert state.context.to_host == back
    wanted = in_order(np.outer(given, before), wires)
    np.testing.assert_allclose(state.amplitudes, wanted, rtol=state.within(1e-14, 1e-5))


def test_amplitudes_are_copied_once_and_in_pieces(register: Callable, gpu: EmulatedGpu) -> None:
    vector = random_vector(18, 3)
    state = register(18)
    used, copied = gpu.settings(), state.context.to_device
    state.prepare_wires(vector, range(18))
    assert gpu.settings() - used <= 16 * PIECE + 8192
    assert state.context.to_device - copied <= 16 * len(vector) + 1024
    assert state.context.to_host == 0
    np.testing.assert_allclose(state.amplitudes, vector, rtol=state.within(1e-15, 1e-6))


@pytest.mark.parametrize(("qubits", "wires"), WIRES)
def test_projections(register: Callable, qubits: int, wires: tuple[int, ...]) -> None:
    before, onto = random_vector(qubits, 4), random_vector(len(wires), 5)
    state = register(qubits)
    if qubits > 1:
        state.gate("SWAP", (0, qubits - 1))
    state.prepare_wires(before, range(qubits))
    copied = state.context.to_device
    state.project_on(onto, wires)
    assert state.context.to_host == 0
    assert state.context.to_device - copied <= 16 * len(onto) + 8 * len(wires)
    rows = np.outer(onto, onto.conj() @ with_first(before, wires))
    wanted = in_order(rows, wires)
    size = np.abs(wanted).max()
    np.testing.assert_allclose(state.amplitudes, wanted, atol=size * state.within(1e-14, 1e-6))


def test_projectors_on_many_wires_are_the_processors(register: Callable) -> None:
    count = MOST_PROJECTED + 1
    before, onto = random_vector(count, 6), random_vector(count, 7)
    before, onto = before / np.linalg.norm(before), onto / np.linalg.norm(onto)
    state = register(count)
    state.prepare_wires(before, range(count))
    state.project_on(onto, range(count))
    wanted = np.vdot(onto, before) * onto
    np.testing.assert_allclose(state.amplitudes, wanted, atol=state.within(1e-14, 1e-7))


@pytest.mark.parametrize("failing", range(1, 12))
def test_whatever_fails_is_an_error(gpu: EmulatedGpu, register: Callable, failing: int) -> None:
    state = register(3)
    gpu.settings(failing=failing, failure=719)
    state.prepare_wires(np.ones(4), [0, 2])
    state.project_on(np.ones(2), [1])
    state.project_on(np.ones(8), [1, 0, 2])
    state.probabilities()
    code, site, detail = state.error
    assert (code, site, detail[0]) == (ErrorCode.GPU_FAILED, 7, 719)
    gpu.settings()


@pytest.mark.parametrize("name", ["prepare_wires", "project_on"])
def test_too_little_memory_is_an_error(gpu: EmulatedGpu, register: Callable, name: str) -> None:
    state = register(9)
    gpu.settings(limit=gpu.settings())
    getattr(state, name)(np.ones(512), range(9))
    code, _, detail = state.error
    assert (code, detail[0]) == (ErrorCode.OUT_OF_MEMORY, 8 * 40 + 16 * 512)
    state.release()
    assert gpu.settings() == 0
    state.state = None
