"""Diagonal matrices with controls, against the same matrices in full."""

import numpy as np
import pytest

from diastase_runtime.abi import ErrorCode


@pytest.mark.parametrize(
    ("qubits", "wires", "controls", "values"),
    [
        (1, [0], [], []),
        (2, [1, 0], [], []),
        (3, [2], [0, 1], [1, 0]),
        (5, [4, 0, 2], [3], [0]),
        (7, [6, 1], [0, 3, 5], [1, 0, 1]),
        (4, [0, 1, 2, 3], [], []),
        (6, [5, 0, 3, 1], [4], [0]),
        (8, [7, 1, 6, 0, 2], [5, 4], [1, 0]),
        (9, [0, 1, 2, 3, 4], [8, 7, 5], [1, 0, 1]),
    ],
)
def test_a_diagonal_is_a_matrix(register, qubits, wires, controls, values):
    generator = np.random.default_rng(qubits)
    elements = generator.normal(size=2 ** len(wires)) + 1j * generator.normal(size=2 ** len(wires))
    states = register(qubits), register(qubits)
    for state in states:
        for wire in range(qubits):
            state.gate("RY", [wire], 0.3 + wire)
            state.gate("CRX", [wire, (wire + 1) % qubits], 0.7) if qubits > 1 else None
    states[0].diagonal(elements, wires, controls, values)
    states[1].unitary(np.diag(elements), wires, controls, values)
    np.testing.assert_allclose(
        states[0].amplitudes, states[1].amplitudes, atol=states[0].within(1e-14)
    )


@pytest.mark.parametrize(
    ("wires", "controls", "code"),
    [
        ([1, 1], [], ErrorCode.OVERLAPPING_WIRES),
        ([0, 3], [], ErrorCode.WIRE_OUT_OF_RANGE),
        ([0, 1], [1], ErrorCode.OVERLAPPING_WIRES),
        ([0, 1], [-1], ErrorCode.WIRE_OUT_OF_RANGE),
    ],
)
def test_wires_are_checked(register, wires, controls, code):
    state = register(3)
    state.diagonal(np.ones(4), wires, controls, [1] * len(controls))
    assert state.error[:2] == (code, 7)


def test_few_wires_are_queued(register):
    state = register(5)
    for wires, operations in (([1], 1), ([3, 0], 1), ([4, 1, 2], 4)):
        before = state.work_done[1]
        state.diagonal(np.exp(1j * np.arange(1, 1 + 2 ** len(wires))), wires)
        assert state.work_done[1] - before == operations
