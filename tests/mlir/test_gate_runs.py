"""Lines that name gates of a run: what is written reads back; what is no gate is refused."""

import math

import pytest

from diastase_mlir.gate_runs import RunGate, read_gate
from diastase_runtime.gate_table import GATES

GATE_LINES = [
    ("CNOT 0 3", RunGate("CNOT", (0, 3))),
    ("RX 2 : %4", RunGate("RX", (2,), (), ("%4",))),
    ("Rot 1 : 0.1 -0.5 inf", RunGate("Rot", (1,), (), (0.1, -0.5, math.inf))),
    ("Adjoint(S) 2 ctrl 0=1 1=0", RunGate("Adjoint(S)", (2,), ((0, True), (1, False)))),
    ("MultiRZ 3 1 0 ctrl 2=0 : 1e-310", RunGate("MultiRZ", (3, 1, 0), ((2, False),), (1e-310,))),
]


@pytest.mark.parametrize(("line", "gate"), GATE_LINES)
def test_lines_and_gates(line: str, gate: RunGate) -> None:
    assert str(gate) == line
    assert read_gate(line) == gate


def test_the_sign_of_zero_and_nan_are_kept() -> None:
    (zero,) = read_gate(str(RunGate("RX", (0,), (), (-0.0,)))).parameters
    (nan,) = read_gate(str(RunGate("RX", (0,), (), (math.nan,)))).parameters
    assert isinstance(zero, float)
    assert math.copysign(1, zero) == -1
    assert isinstance(nan, float)
    assert math.isnan(nan)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Rx 0 : 0.1", "there is no gate named Rx"),
        ("RX 0", "RX takes 1 parameters"),
        ("RX 0 1 : 0.1", "RX acts on 1 wires"),
        ("CNOT 0", "CNOT acts on 2 wires"),
        ("MultiRZ  : 0.1", "MultiRZ acts on some wires"),
        ("RX zero : 0.1", "zero"),
        ("PauliX 0 ctrl 1", "not enough values"),
    ],
)
def test_what_is_no_gate_is_refused(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_gate(line)


def test_gates_on_an_array_of_wires_come_last_in_the_table() -> None:
    """The engine tells them apart by their codes."""
    entries = [gate.entry for gate in GATES.values()]
    assert entries == sorted(entries, key=["wires", "array"].index)
