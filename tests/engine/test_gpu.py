"""The engine of a GPU with a driver that is none (`emulated_gpu`), against dense simulation.

All tests of `tests/engine` that use `register` run so, too, with `DIASTASE_EMULATED_GPU=1`.
"""

from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from diastase_engine.libraries.build import grids_ir
from diastase_runtime.abi import GPU_FUNCTIONS, GRIDS, ErrorCode, library_symbol
from diastase_toolchain.ptx import ARCHITECTURE, TRIPLE, ptx
from emulated_gpu import EmulatedGpu
from ptx_assembler import ARCHITECTURES, assembled, assembler
from random_circuits import apply_engine, dense_amplitudes, random_circuit

PAULIS = {"X": [[0, 1], [1, 0]], "Y": [[0, -1j], [1j, 0]], "Z": [[1, 0], [0, -1]]}


@pytest.fixture
def register(gpu_register: Callable) -> Callable:
    return gpu_register


def prepared(register: Callable, qubits: int, seed: int, length: int = 60):
    """A register after a random circuit, and its amplitudes."""
    circuit = random_circuit(np.random.default_rng([qubits, seed]), qubits, length)
    state = register(qubits, seed)
    for step in circuit:
        apply_engine(state, step)
    return state, dense_amplitudes(circuit, qubits)


def word_matrix(qubits: int, letters: str, wires: tuple[int, ...]) -> np.ndarray:
    factors = [np.eye(2)] * qubits
    for letter, wire in zip(letters, wires, strict=True):
        factors[wire] = np.array(PAULIS[letter])
    return reduce(np.kron, factors)


@pytest.mark.parametrize("qubits", [1, 2, 3, 4, 7, 11, 12, 13])
def test_random_circuits(register: Callable, qubits: int) -> None:
    state, wanted = prepared(register, qubits, 1, 100)
    np.testing.assert_allclose(state.amplitudes, wanted, atol=state.within(1e-12))
    assert state.error[0] == 0


@pytest.mark.parametrize("word", ["XYZ", "YYXZXYZXYZXY"])
def test_rotations_about_words(register: Callable, word: str) -> None:
    qubits, angle = 12, 0.7
    state, before = prepared(register, qubits, 2, 30)
    state.gate(f"PauliRot[{word}]", range(len(word)), angle)
    turned = before.reshape((2,) * qubits)
    for wire, letter in enumerate(word):
        moved = np.tensordot(np.array(PAULIS[letter]), turned, axes=(1, wire))
        turned = np.moveaxis(moved, 0, wire)
    wanted = np.cos(angle / 2) * before - 1j * np.sin(angle / 2) * turned.ravel()
    np.testing.assert_allclose(state.amplitudes, wanted, atol=state.within(1e-12))


def test_many_gates_are_few_launches_and_no_copies(register: Callable) -> None:
    state = register(12)
    for _ in range(4):
        for wire in range(12):
            state.gate("RX", [wire], 0.3)
    for wire in range(11):
        state.gate("CNOT", [wire, wire + 1])
    state.measure(0)
    context = state.context
    assert 0 < context.launches <= 8
    assert context.to_device < 16 << 12  # the plan; not the amplitudes
    assert context.to_host <= 16 * 1024


@pytest.mark.parametrize("qubits", [2, 5, 12])
@pytest.mark.parametrize("wires", [(), (1,), (1, 0)])
def test_probabilities(register: Callable, qubits: int, wires: tuple[int, ...]) -> None:
    state, amplitudes = prepared(register, qubits, 3)
    weights = (np.abs(amplitudes) ** 2).reshape((2,) * qubits)
    rest = tuple(wire for wire in range(qubits) if wires and wire not in wires)
    summed = weights.sum(axis=rest)
    if wires:
        summed = np.transpose(summed, np.argsort(np.argsort(wires)))
    np.testing.assert_allclose(state.probabilities(wires), summed.ravel(), atol=state.within(1e-12))


@pytest.mark.parametrize("qubits", [3, 9])
def test_expectation_values_of_words(register: Callable, qubits: int) -> None:
    state, amplitudes = prepared(register, qubits, 4)
    terms = [
        (0.5, "X", (0,)), (-1.5, "YZ", (2, 1)), (2.0, "ZZ", (0, 2)), (0.25, "XYX", (0, 1, 2)),
        (1.0, "XX", (1, 2)), (3.0, "YY", (1, 2)),
    ]  # fmt: skip
    matrix = sum(c * word_matrix(qubits, word, wires) for c, word, wires in terms)
    wanted = np.vdot(amplitudes, matrix @ amplitudes).real
    np.testing.assert_allclose(state.pauli("expval_pauli", terms), wanted, atol=state.within(1e-12))


@pytest.mark.parametrize("outcome", [0, 1])
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("qubits", [2, 12])
def test_a_measurement_collapses(
    register: Callable, qubits: int, reset: bool, outcome: int
) -> None:
    state, amplitudes = prepared(register, qubits, 5)
    assert state.measure(1, reset, outcome) == outcome
    tensor = amplitudes.reshape(2, 2, -1).copy()
    tensor[:, 1 - outcome] = 0
    if reset and outcome == 1:
        tensor = tensor[:, ::-1]
    wanted = tensor.ravel() / np.linalg.norm(tensor)
    np.testing.assert_allclose(state.amplitudes, wanted, atol=state.within(1e-12))


def test_outcomes_are_those_of_the_host(
    gpu: EmulatedGpu, register: Callable, registers: Callable, engines: Callable
) -> None:
    """Random numbers are the call's: the same seed measures and samples the same."""
    found: list[list[int]] = []
    host = engines("single" if gpu.name == "single" else "double")
    for make in (register, partial(registers, host)):
        state = make(6, 17)
        for wire in range(6):
            state.gate("RY", [wire], 1.0 + wire)
            state.gate("CNOT", [wire, (wire + 1) % 6])
        outcomes = [state.measure(wire) for wire in range(3)]
        found.append([*outcomes, *state.sample(range(6), 50)])
    assert found[0] == found[1]


def test_a_copy_is_a_state_of_its_own(register: Callable) -> None:
    state, amplitudes = prepared(register, 12, 6)
    back = state.context.to_host
    other = state.copy()
    assert state.context.to_host == back
    other.gate("PauliX", [0])
    np.testing.assert_allclose(state.amplitudes, amplitudes, atol=state.within(1e-12))
    turned = amplitudes.reshape(2, -1)[::-1].ravel()
    np.testing.assert_allclose(other.amplitudes, turned, atol=state.within(1e-12))
    other.release()


def test_what_is_not_done_there_is_done_on_the_host(register: Callable) -> None:
    state, amplitudes = prepared(register, 5, 7)
    tensor = amplitudes.reshape(4, -1)
    wanted = tensor @ tensor.conj().T
    np.testing.assert_allclose(state.density_matrix([0, 1]), wanted, atol=state.within(1e-12))
    state.gate("PauliX", [0])
    flipped = amplitudes.reshape(2, -1)[::-1].ravel()
    np.testing.assert_allclose(state.amplitudes, flipped, atol=state.within(1e-12))


def test_amplitudes_are_copied_where_they_are_old_and_nowhere_else(register: Callable) -> None:
    state, amplitudes = prepared(register, 12, 8)
    size = (8 if state.is_single else 16) << 12
    before = np.zeros(2, int)

    def copies() -> tuple[int, int]:
        """Copies of all amplitudes since the last time: to the GPU, and back."""
        now = np.array([state.context.to_device, state.context.to_host])
        there, back = (now - before) // size  # all else is less
        before[:] = now
        return int(there), int(back)

    state.inner(state)  # which brings wires into their order
    state.gate("PauliX", [0])
    amplitudes = amplitudes.reshape(2, -1)[::-1].ravel()
    copies()
    assert state.pauli("expval_pauli", [(1.0, "", ())]) == pytest.approx(1.0, abs=1e-5)
    assert copies() == (0, 0)
    for _ in range(2):
        found = state.density_matrix([0])
        tensor = amplitudes.reshape(2, -1)
        np.testing.assert_allclose(found, tensor @ tensor.conj().T, atol=state.within(1e-12))
        np.testing.assert_allclose(state.amplitudes, amplitudes, atol=state.within(1e-12))
        state.sample(range(12), 5)
        state.pauli("var_pauli", [(1.0, "X", (0,))])
        assert state.inner(state).real == pytest.approx(1.0, abs=state.within(1e-12, 1e-5))
        state.probabilities([3])
    assert copies() == (0, 1)

    random = np.random.default_rng(9)
    for _ in range(2):
        matrix = np.linalg.qr(random.normal(size=(8, 8)) + 1j * random.normal(size=(8, 8)))[0]
        state.apply_sparse(csr_matrix(matrix), [0, 1, 2])  # on the processor
        amplitudes = (matrix @ amplitudes.reshape(8, -1)).ravel()
    np.testing.assert_allclose(state.amplitudes, amplitudes, atol=state.within(1e-12))
    assert copies() == (0, 0)
    for _ in range(2):
        weights = (np.abs(amplitudes) ** 2).reshape(2, -1).sum(axis=1)
        np.testing.assert_allclose(state.probabilities([0]), weights, atol=state.within(1e-12))
        np.testing.assert_allclose(state.amplitudes, amplitudes, atol=state.within(1e-12))
    assert copies() == (1, 0)

    state.gate("PauliX", [0])
    amplitudes = amplitudes.reshape(2, -1)[::-1].ravel()
    np.testing.assert_allclose(state.amplitudes, amplitudes, atol=state.within(1e-12))
    assert copies() == (0, 1)
    state.measure(0, postselect=1)  # there, and what is left is normalised
    other = state.copy()
    amplitudes.reshape(2, -1)[0] = 0
    amplitudes /= np.linalg.norm(amplitudes)
    assert copies() == (0, 0)
    for each in (state, other):
        np.testing.assert_allclose(each.amplitudes, amplitudes, atol=state.within(1e-12))
    assert copies() == (0, 2)
    other.release()


def test_sums_and_products_of_states(register: Callable) -> None:
    state, amplitudes = prepared(register, 6, 9)
    other = state.copy()
    other.gate("PauliX", [0])
    other.scale_add(state, 2j)
    wanted = amplitudes.reshape(2, -1)[::-1].ravel() + 2j * amplitudes
    np.testing.assert_allclose(other.amplitudes, wanted, atol=state.within(1e-12, 1e-5))
    difference = state.inner(other) - np.vdot(amplitudes, wanted)
    assert abs(difference) < state.within(1e-12, 1e-5)
    other.release()


def test_angles_that_are_no_numbers_spoil_the_state(register: Callable) -> None:
    state = register(2)
    state.gate("RX", [0], float("nan"))
    assert np.isnan(state.probabilities()).all()


def test_memory_is_given_back(gpu: EmulatedGpu, register: Callable) -> None:
    state = register(10)
    state.gate("Hadamard", [3])
    state.probabilities([1])
    assert gpu.settings() > 0
    state.release()
    assert gpu.settings() == 0
    state.state = None


def test_too_little_memory_is_an_error(gpu: EmulatedGpu, register: Callable) -> None:
    gpu.settings(limit=1 << 16)
    assert register(4).error[0] == 0
    code, _, detail = register(14).error
    assert (code, detail[0]) == (
        ErrorCode.OUT_OF_MEMORY,
        (8 if gpu.name == "single" else 16) << 14,
    )


def test_memory_that_a_launch_has_not_is_of_no_known_size(
    gpu: EmulatedGpu, register: Callable
) -> None:
    state = register(3)
    gpu.settings(failing=4, failure=2)
    state.gate("Hadamard", [0])
    state.probabilities()
    code, _, detail = state.error
    assert code == ErrorCode.GPU_FAILED
    assert (detail[0], GPU_FUNCTIONS[detail[1]]) == (2, "cuLaunchKernel")


@pytest.mark.parametrize("failing", range(1, 12))
def test_whatever_fails_is_an_error(gpu: EmulatedGpu, register: Callable, failing: int) -> None:
    gpu.settings(failing=failing, failure=719)
    state = register(3)
    for _ in range(3):
        state.gate("Hadamard", [0])
        state.gate("CNOT", [0, 1])
        state.probabilities()
        state.measure(0)
    code, site, detail = state.error
    assert (code, site, detail[0]) == (ErrorCode.GPU_FAILED, 7, 719)
    assert 0 <= detail[1] < len(GPU_FUNCTIONS)
    gpu.settings()


def test_a_forked_process_is_told(tmp_path: Path, registers: Callable) -> None:
    """What the loader tells the engine of a child."""
    gpu = EmulatedGpu(tmp_path)
    state = registers(gpu.library, 2)
    gpu.library[library_symbol(gpu.name, "use_gpu")](None)
    state.probabilities()
    code, _, detail = state.error
    assert (code, detail[0]) == (ErrorCode.GPU_FAILED, 3)


MOST_REGISTERS = {
    "run_stage": 128, "undo_stage": 128, "undo_words": 112, "add_blocks": 96,
    "apply_matrix": 128, "add_moments": 128,
}  # fmt: skip
"""A processor of a GPU has 65,536: enough for two blocks of 256 threads, for four of the others."""


@pytest.mark.skipif(
    assembler() is None, reason="no ptxas (pip install nvidia-cuda-nvcc), or checks"
)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("single", [False, True])
def test_kernels_have_all_they_need_in_registers(
    architecture: str, single: bool, tmp_path: Path
) -> None:
    text = ptx(grids_ir(TRIPLE, single=single), ARCHITECTURE)
    used = assembled(text, architecture, tmp_path)
    assert used.keys() == set(GRIDS)
    for name, usage in used.items():
        assert usage.spilled == 0
        assert usage.registers <= MOST_REGISTERS.get(name, 64)
