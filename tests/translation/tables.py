"""Whether the lines of a table are the gates that they stand for.

The parameters are numbers that are drawn, the same for both sides. The lines are read here, not by
what reads them for the engine.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from diastase_mlir.rewritings import Table
from translation.classical import Skip
from translation.comparison import Claim, TranslationError, exceeds
from translation.registers import Register, gate_matrix, random_state
from translation.runs import MOST_STEPS, MOST_WIRES

Applied = tuple[str, tuple[int, ...], tuple[bool, ...], tuple[float, ...]]
"""A gate: its name, targets and controls, the values of these, its parameters."""


def compare_table(table: Table, seed: int = 0) -> None:
    """Raise `TranslationError` where a table is another circuit, `Skip` where it cannot be run."""
    if len(table.gates) > MOST_STEPS:
        raise Skip("long")
    random = np.random.default_rng([seed, 47])
    operands = [random.uniform(-3, 3, size) for size in table.sizes]
    gates = _gates(table, operands)
    lines = [_line(text, np.concatenate([*operands, np.zeros(0)])) for text in table.lines]
    if len(gates) != len(lines):
        raise TranslationError(f"table: {len(lines)} lines for {len(gates)} gates")
    wires = 1 + max(wire for _, on, _, _ in (*gates, *lines) for wire in on)
    if wires > MOST_WIRES:
        raise Skip(f"more than {MOST_WIRES} wires")
    one = other = random_state(random, wires, mixed=False)
    for number, (gate, line) in enumerate(zip(gates, lines, strict=True)):
        one, other = _apply(one, gate), _apply(other, line)
        if exceeds(off := float(np.max(np.abs(one.state - other.state))), Claim.tolerance):
            text = table.lines[number]
            raise TranslationError(
                f"table: states differ by {off:.3g} after line {number}\n-{gate}\n+{text}"
            )


def _gates(table: Table, operands: Sequence[Any]) -> list[Applied]:
    """The equations, with their parameters from their places."""
    places = iter(zip(table.places.operands, table.places.elements, strict=True))
    found = list[Applied]()
    for equation in table.gates:
        params = equation.params
        numbers = list[float]()
        for atom in equation.invars[1 : 1 + params["num_parameters"]]:
            operand, element = next(places)
            known = hasattr(atom, "val")
            numbers.append(float(atom.val) if known else operands[operand][element])
        wires, values = tuple(params["wires"]), tuple(params["control_values"])
        found.append((params["name"], wires, values, tuple(numbers)))
    return found


def _line(text: str, numbers: Any) -> Applied:
    """A line, `RX 2 ctrl 0=1 : %4`: wires, then controls, then parameters."""
    head, _, parameters = text.partition(" : ")
    head, _, controls = head.partition(" ctrl ")
    name, *wires = head.split()
    pairs = [control.split("=") for control in controls.split()]
    on = [*map(int, wires), *(int(wire) for wire, _ in pairs)]
    given = [
        numbers[int(number[1:])] if number.startswith("%") else float(number)
        for number in parameters.split()
    ]
    return name, tuple(on), tuple(value == "1" for _, value in pairs), tuple(given)


def _apply(register: Register, gate: Applied) -> Register:
    name, wires, values, parameters = gate
    matrix = gate_matrix(name, parameters, len(wires) - len(values))
    return register.apply(matrix, wires, values)
