"""Amplitudes written into wires in |0...0>, against the tensor product."""

import numpy as np
import pennylane as qml
import pytest

from diastase_runtime.abi import ErrorCode


@pytest.mark.parametrize(
    ("qubits", "wires"), [(1, [0]), (2, [1]), (3, [2, 0]), (6, [4, 1, 3]), (7, [6, 0, 5])]
)
def test_prepared_wires_factor_out(register, qubits, wires):
    generator = np.random.default_rng(qubits)
    vector = generator.normal(size=2 ** len(wires)) + 1j * generator.normal(size=2 ** len(wires))
    others = [wire for wire in range(qubits) if wire not in wires]
    state = register(qubits)
    for wire in others:
        state.gate("RY", [wire], 0.3 + wire)
    before = state.amplitudes
    state.prepare_wires(vector, wires)

    @qml.qnode(qml.device("default.qubit", wires=qubits))
    def circuit():
        qml.StatePrep(vector / np.linalg.norm(vector), wires=wires)
        for wire in others:
            qml.RY(0.3 + wire, wire)
        return qml.state()

    np.testing.assert_allclose(
        state.amplitudes, circuit() * np.linalg.norm(vector), atol=state.within(1e-14)
    )
    assert np.isclose(np.linalg.norm(before), 1)
    assert state.error[0] == ErrorCode.NONE


@pytest.mark.parametrize(
    ("wires", "code"),
    [([1, 1], ErrorCode.OVERLAPPING_WIRES), ([0, 3], ErrorCode.WIRE_OUT_OF_RANGE)],
)
def test_wires_are_checked(register, wires, code):
    state = register(3)
    state.prepare_wires(np.full(4, 0.5 + 0j), wires)
    assert state.error[:2] == (code, 7)
