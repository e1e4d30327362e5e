"""The sweep back on a GPU that is none (`emulated_gpu`), against differences and the processor's.

All of `test_backward` runs so, too, with `DIASTASE_EMULATED_GPU=1`.
"""

import ctypes
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from diastase_runtime.abi import ErrorCode
from emulated_gpu import EmulatedGpu
from swept_circuits import SITE, Operation, differences, random_circuit, run, swept


@pytest.fixture
def register(gpu_register: Callable) -> Callable:
    return gpu_register


@pytest.fixture
def on_host(registers: Callable, engines: Callable) -> Callable:
    """Registers of the processor, in double precision."""
    return partial(registers, engines("double"))


def complex_vector(qubits: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(size=2**qubits) + 1j * generator.normal(size=2**qubits)


def tolerance(gpu: EmulatedGpu, vector: np.ndarray, within: float) -> float:
    return 5e-6 * float(np.linalg.norm(vector)) if gpu.name == "single" else within


@pytest.mark.parametrize("qubits", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_random_circuits(
    gpu: EmulatedGpu, register: Callable, on_host: Callable, qubits: int, seed: int
) -> None:
    circuit, vector = random_circuit(seed, qubits, 30), complex_vector(qubits, seed)
    found, at_start = swept(register, qubits, circuit, vector)
    wanted = differences(on_host, qubits, circuit, vector)
    np.testing.assert_allclose(found, wanted, atol=tolerance(gpu, vector, 2e-8))
    start = np.zeros(2**qubits)
    start[0] = 1
    np.testing.assert_allclose(at_start, start, atol=1e-5 if gpu.name == "single" else 1e-12)


def layered(qubits: int) -> list[Operation]:
    """Targets and selectors in all places of a large state; words that are undone together."""
    generator = np.random.default_rng(qubits)
    circuit = list[Operation]()
    for name, count in (("RX", 1), ("IsingZZ", 2), ("RY", 1), ("CRX", 2), ("Rot", 1), ("CRZ", 2)):
        for wire in range(qubits - count + 1):
            numbers = generator.normal(size=3 if name == "Rot" else 1)
            circuit.append((name, (wire, wire + 1)[:count], (), (), numbers))
    for word in ("XYZ" * 4, "YXZ" * 4, "XXZ" * 4):
        order = tuple(int(wire) for wire in generator.permutation(qubits))
        for signs in (word, word.translate(str.maketrans("XY", "YX"))):
            name, angle = f"PauliRot[{signs}]", generator.normal(size=1)
            circuit.append((name, order[:12], order[12:13], (1,), angle))
    circuit.append(("SWAP", (0, 5), (11,), (0,), np.zeros(0)))
    return [*circuit, *random_circuit(1, qubits, 20)]


@pytest.mark.parametrize(("qubits", "chunk"), [(13, 0), (15, 4)])
def test_large_states(
    gpu: EmulatedGpu, register: Callable, on_host: Callable, qubits: int, chunk: int
) -> None:
    """Of several chunks, and of more chunks than blocks of a launch."""
    circuit, vector = layered(qubits), complex_vector(qubits, 3)
    found, _ = swept(register, qubits, circuit, vector, chunk)
    wanted, _ = swept(on_host, qubits, circuit, vector)
    np.testing.assert_allclose(found, wanted, atol=tolerance(gpu, vector, 1e-10))


def test_many_words_on_a_state_of_many_pairs(
    gpu: EmulatedGpu, register: Callable, on_host: Callable
) -> None:
    """More words that flip the same bits than one launch has, more pairs than there are threads."""
    qubits, generator = 20, np.random.default_rng(5)
    circuit = list[Operation]([("RX", (3,), (), (), np.array([0.3]))])
    for number in range(18):
        word = "".join("XY"[(number * k + k) % 3 % 2] for k in range(6)) + "Z" * (number % 3)
        controls = ((19,), (18, 19), ())[number % 3]
        values = (1, 0)[: len(controls)]
        wires = tuple(range(0, 12, 2)) + (1, 5)[: number % 3]
        angle = generator.normal(size=1)
        circuit.append((f"PauliRot[{word}]", wires, controls, values, angle))
    circuit[1:1] = [("Hadamard", (wire,), (), (), np.zeros(0)) for wire in range(12, 20)]
    vector = complex_vector(qubits, 2)
    found, _ = swept(register, qubits, circuit, vector)
    wanted, _ = swept(on_host, qubits, circuit, vector)
    np.testing.assert_allclose(found, wanted, atol=tolerance(gpu, vector, 1e-9))
    assert np.all(np.abs(wanted[1:]) > 1e-3)


def test_nothing_to_undo(register: Callable) -> None:
    circuit: list[Operation] = [("PauliX", (0,), (), (), np.zeros(0))] * 2
    found, at_start = swept(register, 2, circuit, np.ones(4))
    assert len(found) == 0
    np.testing.assert_array_equal(at_start, [1, 0, 0, 0])


def sweep(state, adjoint) -> np.ndarray:
    out = np.full(state.call("tape_length", result=ctypes.c_int64), np.nan)
    numbers = (ctypes.c_int64(SITE), ctypes.c_int64(len(out)), ctypes.c_void_p(out.ctypes.data))
    state.call("tape_sweep", ctypes.c_void_p(adjoint.state), *numbers)
    return out


def test_no_amplitudes_are_copied(register: Callable) -> None:
    state = run(register, 13, layered(13), record=True)
    adjoint = state.copy()
    context, size = state.context, (8 if state.is_single else 16) << 13
    context.to_device, context.to_host = 0, 0
    # With the state as its own adjoint the loss is the norm, which does not depend on anything.
    found = sweep(state, adjoint)
    np.testing.assert_allclose(found, 0, atol=1e-5 if state.is_single else 1e-12)
    assert 0 < context.to_host < size
    assert 0 < context.to_device < 2 * size  # the plans
    adjoint.release()


@pytest.mark.parametrize("failing", [1, 2, 3, 4, 6, 8, 10, 12, 14, 16])
def test_whatever_fails_is_an_error(gpu: EmulatedGpu, register: Callable, failing: int) -> None:
    used = gpu.settings()
    state = run(register, 4, random_circuit(2, 4, 12), record=True)
    adjoint = state.copy()
    gpu.settings(failing=failing, failure=719)
    sweep(state, adjoint)
    code, _, detail = state.error
    assert (code, detail[0]) == (ErrorCode.GPU_FAILED, 719)
    gpu.settings()
    adjoint.release()
    state.release()
    state.state = None
    assert gpu.settings() == used


def test_too_little_memory_for_sums_is_an_error(gpu: EmulatedGpu, register: Callable) -> None:
    state = run(register, 13, layered(13), record=True)
    adjoint = state.copy()
    gpu.settings(limit=gpu.settings() + 4096)
    sweep(state, adjoint)
    assert state.error[0] == ErrorCode.OUT_OF_MEMORY
    adjoint.release()
