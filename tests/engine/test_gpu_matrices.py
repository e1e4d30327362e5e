"""Matrices on a GPU that is none (`emulated_gpu`): applied and measured, against NumPy."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from diastase_runtime.abi import ErrorCode
from emulated_gpu import EmulatedGpu

I64 = ctypes.c_int64
RANDOM = np.random.default_rng(11)
MOST_THERE = 11
"""Wires of a matrix that is applied on the GPU."""


@pytest.fixture
def register(gpu_register: Callable) -> Callable:
    return gpu_register


def some_matrix(wires: int) -> np.ndarray:
    """Of a norm about 1, and neither unitary nor symmetric."""
    size = 2**wires
    return RANDOM.normal(size=(size, size, 2)) @ [1, 1j] / np.sqrt(2 * size)


def prepared(register: Callable, qubits: int):
    """A register in a random state, on the GPU, whose first and last wire are exchanged."""
    vector = RANDOM.normal(size=(2**qubits, 2)) @ [1, 1j]
    vector /= np.linalg.norm(vector)
    state = register(qubits, seed=1)
    state.prepare_wires(vector, range(qubits))
    state.gate("SWAP", [0, qubits - 1])
    state.gate("PauliX", [0])
    state.probabilities([0])
    tensor = np.swapaxes(vector.reshape((2,) * qubits), 0, qubits - 1)[::-1]
    return state, tensor


def multiplied(matrix: np.ndarray, tensor: np.ndarray, wires: Sequence[int]) -> np.ndarray:
    """A matrix applied to some axes."""
    count = len(wires)
    matrix = matrix.reshape((2,) * (2 * count))
    product = np.tensordot(matrix, tensor, axes=(range(count, 2 * count), wires))
    return np.moveaxis(product, range(count), wires)


def where_controls_match(
    before: np.ndarray, after: np.ndarray, controls: Sequence[int], values: Sequence[int]
) -> np.ndarray:
    """What was, and what is where these axes have these values."""
    result = before.copy()
    where: list = [slice(None)] * before.ndim
    for control, value in zip(controls, values, strict=True):
        where[control] = value
    result[tuple(where)] = after[tuple(where)]
    return result


def call_with_numbers(
    state: Any,
    name: str,
    numbers: np.ndarray,
    wires: Sequence[int],
    controls: Sequence[int] = (),
    values: Sequence[int] = (),
) -> None:
    """`unitary` or `diagonal`, of many numbers."""
    numbers = np.ascontiguousarray(numbers, complex)
    tables = [(I64 * (len(table) + 1))(*table) for table in (wires, controls, values)]
    counts = I64(len(wires)), I64(len(controls))
    arguments = (counts[0], tables[0], counts[1], tables[1], tables[2])
    state.call(name, I64(7), *arguments, numbers.ctypes.data_as(ctypes.c_void_p))


CASES = [
    (2, (1, 0), ()),
    (3, (2, 0, 1), ()),
    (4, (0, 1, 3), (2,)),
    (5, (3, 1), (0, 4)),
    (11, (0, 9, 4, 10), (2, 8)),
    (13, (12, 0, 6), ()),
    (13, (0, 1, 2), (12, 3)),
    (14, (13, 12), (0, 1, 2, 3)),
    (14, (0, 3, 1, 2, 7), (4, 13)),
    (6, (), (2,)),
    (6, (), ()),
]


@pytest.mark.parametrize(("qubits", "wires", "controls"), CASES)
def test_a_matrix_is_applied(
    register: Callable, qubits: int, wires: tuple[int, ...], controls: tuple[int, ...]
) -> None:
    state, tensor = prepared(register, qubits)
    values = [k & 1 for k in range(len(controls))]
    matrix = some_matrix(len(wires))
    back, launches = state.context.to_host, state.context.launches
    state.unitary(matrix, wires, controls, values)
    assert state.context.to_host == back
    assert state.context.launches > launches
    wanted = where_controls_match(tensor, multiplied(matrix, tensor, wires), controls, values)
    np.testing.assert_allclose(state.amplitudes, wanted.ravel(), atol=state.within(1e-12))
    assert state.error[0] == 0


@pytest.mark.parametrize("wires", [MOST_THERE, MOST_THERE + 1])
def test_matrices_on_many_wires(register: Callable, wires: int) -> None:
    """The larger one is applied on the processor."""
    state, tensor = prepared(register, 12)
    targets = np.roll(range(12), 5)[:wires].tolist()
    angles = RANDOM.normal(size=(wires, 2, 2)) + 1j * RANDOM.normal(size=(wires, 2, 2))
    matrix, wanted = np.eye(1), tensor
    for wire, small in zip(targets, angles, strict=True):
        small /= np.linalg.norm(small)
        matrix, wanted = np.kron(matrix, small), multiplied(small, wanted, [wire])
    copied = state.context.to_host
    call_with_numbers(state, "unitary", matrix, targets)
    assert (state.context.to_host == copied) == (wires == MOST_THERE)
    scale = np.linalg.norm(wanted)
    np.testing.assert_allclose(
        state.amplitudes / scale, wanted.ravel() / scale, atol=state.within(1e-12)
    )


@pytest.mark.parametrize(("qubits", "wires", "controls"), CASES)
def test_a_hermitian_matrix_is_measured(
    register: Callable, qubits: int, wires: tuple[int, ...], controls: tuple[int, ...]
) -> None:
    wires = (*wires, *controls)
    state, tensor = prepared(register, qubits)
    matrix = some_matrix(len(wires))
    matrix = matrix + matrix.conj().T
    product = multiplied(matrix, tensor, wires)
    mean, square = np.vdot(tensor, product).real, np.linalg.norm(product) ** 2
    there, back = state.context.to_device, state.context.to_host
    assert abs(state.matrix_moment("expval_matrix", matrix, wires) - mean) < state.within(1e-12)
    variance = state.matrix_moment("var_matrix", matrix, wires)
    assert abs(variance - (square - mean**2)) < state.within(1e-12)
    assert state.context.to_host - back <= 2 * 16 * 2**3
    assert state.context.to_device - there <= 2 * (16 * 4 ** len(wires) + 16 * 2 ** len(wires))
    np.testing.assert_allclose(state.amplitudes, tensor.ravel(), atol=state.within(1e-12))


def test_more_chunks_than_blocks_that_add_up(register: Callable) -> None:
    state = register(22)
    for wire in (0, 9, 21):
        state.gate("RY", [wire], 0.3 + wire)
    rotated = [np.array([np.cos(a / 2), np.sin(a / 2)]) for a in (0.3, 9.3, 21.3)]
    vector = np.kron(np.kron(rotated[2], rotated[0]), rotated[1])
    matrix = some_matrix(3)
    matrix = matrix + matrix.conj().T
    found = state.matrix_moment("expval_matrix", matrix, (21, 0, 9))
    assert abs(found - np.vdot(vector, matrix @ vector).real) < state.within(1e-12)


@pytest.mark.parametrize(
    ("qubits", "wires", "controls"),
    [
        (4, (2, 0, 1, 3), ()),
        (5, (4, 0, 1, 3), (2,)),
        (12, (3, 11, 0, 7, 5), (1, 10)),
        (13, tuple(range(13)), ()),
        (6, (), (2,)),
        (6, (), ()),
        (20, (5, 0, 19, *range(6, 19), 2, 1, 4), ()),
        (20, (5, 0, 19, *range(6, 19), 2, 1, 4), (3,)),
    ],
)
def test_a_diagonal_is_applied(
    register: Callable, qubits: int, wires: tuple[int, ...], controls: tuple[int, ...]
) -> None:
    """The largest is sent in two pieces."""
    state, tensor = prepared(register, qubits)
    values = [k & 1 for k in range(len(controls))]
    elements = np.exp(1j * RANDOM.normal(size=2 ** len(wires)))
    there, back = state.context.to_device, state.context.to_host
    call_with_numbers(state, "diagonal", elements, wires, controls, values)
    assert state.context.to_host == back
    assert state.context.to_device - there == 16 * len(elements) + 8 * min(len(wires), 18)
    axes = [*wires, *(axis for axis in range(qubits) if axis not in wires)]
    factors = elements.reshape(*(2,) * len(wires), *(1,) * (qubits - len(wires)))
    turned = (tensor.transpose(axes) * factors).transpose(np.argsort(axes))
    wanted = where_controls_match(tensor, turned, controls, values)
    np.testing.assert_allclose(state.amplitudes, wanted.ravel(), atol=state.within(1e-12))


def test_what_waits_and_what_follows(register: Callable) -> None:
    """Gates before and after a matrix, which are still on the GPU."""
    state, tensor = prepared(register, 12)
    matrix, x = some_matrix(3), np.array([[0, 1], [1, 0]])
    state.gate("PauliX", [5])
    state.unitary(matrix, [5, 0, 11])
    state.gate("PauliX", [11])
    wanted = multiplied(x, multiplied(matrix, multiplied(x, tensor, [5]), [5, 0, 11]), [11])
    other = state.copy()
    back = state.context.to_host
    for each in (state, other):
        np.testing.assert_allclose(each.amplitudes, wanted.ravel(), atol=state.within(1e-12))
    size = (8 if state.is_single else 16) << 12
    assert state.context.to_host == back + 2 * size
    other.release()


def test_a_matrix_that_is_no_number(register: Callable) -> None:
    state = register(4)
    state.unitary(np.full((8, 8), np.nan), [0, 1, 2])
    assert np.isnan(state.probabilities([3])).all()


def test_too_little_memory(gpu: EmulatedGpu, register: Callable) -> None:
    state = register(10)
    gpu.settings(limit=gpu.settings() + (1 << 16))
    assert state.matrix_moment("expval_matrix", np.eye(2**7), range(7)) == 0.0
    code, site, _ = state.error
    assert (code, site) == (ErrorCode.OUT_OF_MEMORY, 7)
    state.unitary(np.eye(8), range(3))  # nothing
    other = register(13)
    gpu.settings(limit=gpu.settings() + (1 << 16))
    other.diagonal(np.ones(2**13), range(13))
    code, site, _ = other.error
    assert (code, site) == (ErrorCode.OUT_OF_MEMORY, 7)


@pytest.mark.parametrize("failing", range(1, 19))
def test_whatever_fails_is_an_error(gpu: EmulatedGpu, register: Callable, failing: int) -> None:
    state = register(4)
    state.gate("Hadamard", [0])
    gpu.settings(failing=failing, failure=719)
    for _ in range(2):
        state.unitary(np.eye(8), [2, 0, 1])
        state.matrix_moment("expval_matrix", np.eye(8), [2, 0, 1])
        state.diagonal(np.ones(16), [2, 0, 1, 3])
    code, site, detail = state.error
    assert (code, site, detail[0]) == (ErrorCode.GPU_FAILED, 7, 719)
    gpu.settings()
    state.release()
    assert gpu.settings() == 0
    state.state = None
