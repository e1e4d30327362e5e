"""Runs of gates written out: how one operation, `quantum.run`, names thousands of gates.

A gate of a run is a line of text, as it is read in printed IR:

    CNOT 0 3                    wires
    RX 2 : %4                   a parameter found at run time: the operand of that number, or the
                                element of the one operand that is a vector
    Rot 1 : 0.1 -0.5 2.25       parameters known now
    PauliX 2 ctrl 0=1 1=0       controls, each with the value that activates the gate

Lowering writes such lines, the dialect checks them, and the conversion to calls of the engine reads
them. Numbers are written so that they read back as the same double.
"""

from dataclasses import dataclass
from functools import lru_cache

from diastase_runtime.gate_table import gate_of

LEAST = 32
"""Gates in a row from which on they are one operation: fewer are easier to read, and to transform,
as operations of their own, and cost little to compile."""

MOST = 4096
"""Gates in one run: parameters that are operands lie on the stack while it is applied."""


@dataclass(frozen=True, slots=True)
class RunGate:
    """A gate of a run; wires are known."""

    name: str
    wires: tuple[int, ...]
    controls: tuple[tuple[int, bool], ...] = ()
    parameters: tuple[float | str, ...] = ()
    """Numbers, or `%4`."""

    def __str__(self) -> str:
        """Write the gate as a line."""
        text = f"{self.name} {' '.join(map(str, self.wires))}"
        if self.controls:
            text += " ctrl " + " ".join(f"{wire}={value:d}" for wire, value in self.controls)
        if self.parameters:
            numbers = (n if isinstance(n, str) else repr(n) for n in self.parameters)
            text += " : " + " ".join(numbers)
        return text


@lru_cache(2**14)  # the verifier reads what the conversion reads again; gates repeat
def read_gate(text: str) -> RunGate:
    """Read a line; raises `ValueError` where it is none, or no gate of the gate table."""
    place, _, numbers = text.partition(" : ")
    place, _, controls = place.partition(" ctrl ")
    name, *wires = place.split()
    gate = RunGate(
        name,
        tuple(map(int, wires)),
        tuple(_read_control(control) for control in controls.split()),
        tuple(number if number.startswith("%") else float(number) for number in numbers.split()),
    )
    reason = _mistake(gate)
    if reason is not None:
        raise ValueError(reason)
    return gate


def _read_control(text: str) -> tuple[int, bool]:
    wire, value = text.split("=")
    return int(wire), bool(int(value))


def _mistake(gate: RunGate) -> str | None:
    """Say what is wrong with a gate, by the gate table."""
    row = gate_of(gate.name)
    if row is None:
        return f"there is no gate named {gate.name}"
    if len(gate.parameters) != row.parameters:
        return f"{gate.name} takes {row.parameters} parameters"
    if not gate.wires or row.wires not in (0, len(gate.wires)):
        return f"{gate.name} acts on {row.wires or 'some'} wires"
    return None
