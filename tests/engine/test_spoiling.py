"""A gate that is no number leaves no number behind, wherever its amplitudes would have been."""

from collections.abc import Callable

import numpy as np
import pytest

from diastase_engine import GATES
from diastase_runtime.abi import ErrorCode

PARAMETRIC = [gate for gate in GATES.values() if gate.parameters]
BAD = (np.nan, np.inf, -np.inf)


def is_spoilt(state) -> bool:
    """Whether no amplitude, probability or expectation value is a number."""
    wires = range(state.qubits)
    numbers = [state.amplitudes, state.probabilities([0]), state.probabilities([])]
    numbers += [state.probabilities([wire]) for wire in wires]
    assert state.error[0] == 0
    return all(np.isnan(part).all() for part in numbers)


def arguments(gate, bad: float) -> tuple[list[int], list[float]]:
    """Wires of a gate, and its parameters, the last of which is no number."""
    wires = {0: 3, 4: 4}.get(gate.wires, gate.wires)
    return list(range(1, 1 + wires)), [0.3] * (gate.parameters - 1) + [bad]


@pytest.mark.parametrize("qubits", [6, 13])
@pytest.mark.parametrize("gate", PARAMETRIC, ids=lambda gate: gate.name)
def test_parameters(register: Callable, gate, qubits: int) -> None:
    for bad in BAD:
        for controls in ((), (5,), (0, 5)):
            state = register(qubits)
            wires, parameters = arguments(gate, bad)
            state.gate("Hadamard", [2])
            if controls:
                state.controlled(gate.name, controls, [1] * len(controls), wires, *parameters)
            else:
                state.gate(gate.name, wires, *parameters)
            state.gate("RY", [2], 0.4)
            state.gate("CNOT", [2, 0])
            state.gate("IsingXX", [2, 0], 0.3)
            assert is_spoilt(state)
            state.release()


@pytest.mark.parametrize("qubits", [1, 2, 3, 4, 7])
def test_matrices(register: Callable, qubits: int) -> None:
    for width in range(1, min(qubits, 4) + 1):
        for place in (0, 1, 4**width - 1):
            matrix = np.eye(2**width, dtype=complex)
            matrix.flat[place] = complex(0.0, np.nan)
            state = register(qubits)
            controls = tuple(range(width, qubits))
            state.unitary(matrix, range(width), controls, (1,) * len(controls))
            assert is_spoilt(state)
            state.release()
        elements = np.ones(2**width, complex)
        elements[-1] = np.inf
        state = register(qubits)
        state.diagonal(elements, range(width))
        assert is_spoilt(state)


def test_lanes_beyond_a_small_state_stay_zero(register: Callable) -> None:
    for qubits in range(4):
        state = register(qubits)
        state.global_phase(np.nan)
        assert np.isnan(state.amplitudes).all()
        state.call("state_zero")
        assert (state.amplitudes == 0.0).all()


def test_no_outcome_is_drawn(register: Callable) -> None:
    for draw in (
        lambda state: state.measure(0),
        lambda state: state.sample([0, 1], 10),
        lambda state: state.sample([], 10),
    ):
        state = register(5)
        state.gate("RX", [3], np.nan)
        draw(state)
        assert state.error[0] == ErrorCode.NOT_A_NUMBER


def test_other_states_are_not_concerned(register: Callable) -> None:
    state, copy = register(4), None
    state.gate("RX", [0], 0.3)
    copy = state.copy()
    state.gate("RX", [0], np.nan)
    assert is_spoilt(state)
    assert not np.isnan(copy.amplitudes).any()
    copy.scale_add(state, 0.5)
    assert is_spoilt(copy)
