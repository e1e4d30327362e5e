"""Everything that can go wrong at run time is recorded, once, and touches nothing."""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse

from diastase_engine import GATES
from diastase_runtime.abi import ErrorCode

BAD_CALLS = {
    "gate": (lambda s: s.gate("RX", (3,), 0.1), ErrorCode.WIRE_OUT_OF_RANGE, [3, 3]),
    "negative": (lambda s: s.gate("RX", (-1,), 0.1), ErrorCode.WIRE_OUT_OF_RANGE, [-1, 3]),
    "huge": (lambda s: s.gate("RX", (2**62,), 0.1), ErrorCode.WIRE_OUT_OF_RANGE, [2**62, 3]),
    "second wire": (lambda s: s.gate("CNOT", (0, 64)), ErrorCode.WIRE_OUT_OF_RANGE, [64, 3]),
    "same wires": (lambda s: s.gate("CNOT", (1, 1)), ErrorCode.OVERLAPPING_WIRES, [1]),
    "same swapped": (lambda s: s.gate("SWAP", (2, 2)), ErrorCode.OVERLAPPING_WIRES, [2]),
    "control is target": (
        lambda s: s.controlled("RX", [0, 1], [1, 1], (1,), 0.1),
        ErrorCode.OVERLAPPING_WIRES,
        [1],
    ),
    "control is second target": (
        lambda s: s.controlled("CNOT", [0], [1], (1, 0)),
        ErrorCode.OVERLAPPING_WIRES,
        [0],
    ),
    "control twice": (
        lambda s: s.controlled("RX", [2, 2], [1, 0], (1,), 0.1),
        ErrorCode.OVERLAPPING_WIRES,
        [2],
    ),
    "bad control": (
        lambda s: s.controlled("RX", [5], [1], (1,), 0.1),
        ErrorCode.WIRE_OUT_OF_RANGE,
        [5, 3],
    ),
    "array": (
        lambda s: s.gate("MultiRZ", (0, 1, 0), 0.1),
        ErrorCode.OVERLAPPING_WIRES,
        [0],
    ),
    "array size": (
        lambda s: s.gate("DoubleExcitation", (0, 1), 0.1),
        ErrorCode.SIZE_MISMATCH,
        [2, 4],
    ),
    "array parameters": (
        lambda s: s.gate("MultiRZ", (0, 1), 0.1, 0.2),
        ErrorCode.SIZE_MISMATCH,
        [2, 1],
    ),
    "unitary": (lambda s: s.unitary(np.eye(4), (0, 0)), ErrorCode.OVERLAPPING_WIRES, [0]),
    "unitary control": (
        lambda s: s.unitary(np.eye(2), (0,), (0,), (1,)),
        ErrorCode.OVERLAPPING_WIRES,
        [0],
    ),
    "measure": (lambda s: s.measure(7), ErrorCode.WIRE_OUT_OF_RANGE, [7, 3]),
    "probabilities": (lambda s: s.probabilities([1, 1]), ErrorCode.OVERLAPPING_WIRES, [1]),
    "pauli": (
        lambda s: s.pauli("expval_pauli", [(1.0, "X", [0]), (1.0, "Z", [4])]),
        ErrorCode.WIRE_OUT_OF_RANGE,
        [4, 3],
    ),
    "pauli twice": (
        lambda s: s.pauli("var_pauli", [(1.0, "XY", [2, 2])]),
        ErrorCode.OVERLAPPING_WIRES,
        [2],
    ),
    "sparse": (
        lambda s: s.apply_sparse(scipy.sparse.eye(4, format="csr"), (2, 2)),
        ErrorCode.OVERLAPPING_WIRES,
        [2],
    ),
    "projector": (
        lambda s: s.project_on(np.ones(4), (0, 3)),
        ErrorCode.WIRE_OUT_OF_RANGE,
        [3, 3],
    ),
    "density matrix": (
        lambda s: s.density_matrix((0, -1)),
        ErrorCode.WIRE_OUT_OF_RANGE,
        [-1, 3],
    ),
    "hermitian": (
        lambda s: s.matrix_moment("expval_matrix", np.eye(4), (1, 9)),
        ErrorCode.WIRE_OUT_OF_RANGE,
        [9, 3],
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_wires(register: Callable, case: str) -> None:
    call, code, detail = BAD_CALLS[case]
    state = register(3)
    state.gate("Hadamard", (1,))
    before = state.amplitudes
    call(state)
    assert (state.error[0], state.error[1]) == (code, 7)
    assert state.error[2][: len(detail)] == detail
    state.context.code = 0  # look behind the error: nothing happened to the state
    np.testing.assert_array_equal(state.amplitudes, before)


def test_the_first_error_stays_and_stops_everything(register: Callable) -> None:
    state = register(2)
    state.gate("RX", (9,), 0.1)
    state.gate("RX", (0,), 0.1)
    state.gate("CNOT", (1, 1))
    state.global_phase(0.3)
    assert state.measure(0) == 0
    assert state.pauli("expval_pauli", [(1.0, "Z", [0])]) == 0.0
    assert state.copy().state is None
    assert state.error == (ErrorCode.WIRE_OUT_OF_RANGE, 7, [9, 2, 0, 0])
    state.context.code = 0
    np.testing.assert_array_equal(state.amplitudes, [1, 0, 0, 0])


@pytest.mark.parametrize(
    ("qubits", "code"),
    [
        (-1, ErrorCode.NEGATIVE_QUBITS),
        (-(2**63), ErrorCode.NEGATIVE_QUBITS),
        (38, ErrorCode.OUT_OF_MEMORY),
        (39, ErrorCode.OUT_OF_MEMORY),
        (40, ErrorCode.TOO_MANY_QUBITS),
        (61, ErrorCode.TOO_MANY_QUBITS),
        (64, ErrorCode.TOO_MANY_QUBITS),
        (2**63 - 1, ErrorCode.TOO_MANY_QUBITS),
    ],
)
def test_impossible_states(register: Callable, qubits: int, code: ErrorCode) -> None:
    state = register(qubits)
    assert state.state is None
    detail = (8 if state.is_single else 16) << qubits if code is ErrorCode.OUT_OF_MEMORY else qubits
    assert (state.error[0], state.error[1], state.error[2][0]) == (code, 7, detail)


def test_the_null_state_is_accepted_everywhere(register: Callable) -> None:
    state = register(99)
    state.context.code = 0
    for name, row in GATES.items():
        state.gate(name, range(row.wires or 2), *[0.1] * row.parameters)
    state.global_phase(0.1)
    state.unitary(np.eye(4), (0, 1))
    assert (state.measure(0), state.qubits) == (0, 0)
    assert state.pauli("var_pauli", [(1.0, "Z", [0])]) == 0.0
    assert state.matrix_moment("var_matrix", np.eye(2), [0]) == 0.0
    assert state.inner(state) == 0
    state.scale_add(state, 1j)
    state.call("state_zero")
    assert state.copy().state is None
    assert state.error[0] == ErrorCode.NONE


def test_an_unknown_code_is_an_error(register: Callable) -> None:
    state = register(2)
    for code in (-1, len(GATES), 10**9):
        state.context.code = 0
        arguments = [ctypes.c_int64(k) for k in (7, code, 0, 1)]
        state.call("gate", *arguments, *[ctypes.c_double(0.1)] * 3)
        assert state.error[0] == ErrorCode.SIZE_MISMATCH


def test_states_of_different_size_do_not_meet(register: Callable) -> None:
    first, second = register(2), register(3)
    assert first.inner(second) == 0
    assert first.error == (ErrorCode.SIZE_MISMATCH, 7, [3, 2, 0, 0])
