"""Statements of the operations on a register, by the names of their primitives."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from diastase.inspection.circuit_texts.expressions import (
    Choice,
    Expression,
    NotSayableError,
    first_condition,
)
from diastase.inspection.circuit_texts.gates import (
    MOST_DIAGONAL_WIRES,
    diagonal_steps,
    steps_of,
    unitary_steps,
)
from diastase.inspection.circuit_texts.reading.reader import Reader, angle_of
from diastase.inspection.circuit_texts.statements import Measure, Phase, Reset
from diastase.inspection.circuit_texts.values import scalar_of, scalar_value
from diastase_runtime.gate_table import into_z


def _allocate(reader: Reader, equation: Any) -> None:
    if equation.params["num_wires"] is None:
        raise NotSayableError("has a traced number of wires")
    reader.size = equation.params["num_wires"]


def _gate(reader: Reader, equation: Any) -> None:
    params = equation.params
    count, values = params["num_parameters"], params["control_values"]
    wires = reader.wires(equation, params["wires"])
    targets = len(wires) - len(values)
    angles = [scalar_of(reader.values.of(atom)) for atom in equation.invars[1 : 1 + count]]
    steps = steps_of(params["name"], targets)
    reader.gate(steps, wires[:targets], angles, wires[targets:], values)


def _array(reader: Reader, equation: Any) -> None:
    value = reader.values.of(equation.invars[1])
    if not isinstance(value, np.ndarray):
        raise NotSayableError("is an array that is not known")
    values, wires = equation.params["control_values"], equation.params["wires"]
    found = reader.wires(equation, wires)
    targets = len(found) - len(values)
    if value.ndim == 1 and targets <= MOST_DIAGONAL_WIRES:
        steps = diagonal_steps(value)
    elif targets == 1:
        steps = unitary_steps(value)
    else:
        reason = f"is an array on {targets} wires, which is no gate of {reader.language.name}"
        raise NotSayableError(reason)
    reader.gate(steps, found[:targets], (), found[targets:], values)


def _phase(reader: Reader, equation: Any) -> None:
    """PennyLane's sign is the other one; where it depends on an outcome, nobody sees it."""
    phi = scalar_of(reader.values.of(equation.invars[1]))
    if not isinstance(phi, Choice):
        reader.write(Phase(angle_of((-1.0, 0), [phi])))


def _measure(reader: Reader, equation: Any) -> None:
    params = equation.params
    if params["postselect"] is not None:
        raise NotSayableError("keeps what has one outcome")
    wires = reader.wires(equation, params["wires"])
    if first_condition(wires) is not None:
        raise NotSayableError("measures a wire that an outcome chooses")
    reader.check(wires)
    wire = wires[-1]
    assert isinstance(wire, np.generic | Expression)
    if not (reader.language.repeats or isinstance(wire, np.generic)):
        raise NotSayableError("measures a wire that a loop computes")
    forth, back = into_z(params["word"], range(len(wires)), params["reset"])
    for name, places in forth:
        reader.gate(steps_of(name, len(places)), [wires[place] for place in places], ())
    name = f"m{reader.outcomes}"
    reader.outcomes += 1
    reader.write(Measure(name, wire))
    if params["reset"]:
        reader.write(Reset(wire))
    for name_back, places in back:
        reader.gate(steps_of(name_back, len(places)), [wires[place] for place in places], ())
    outcome = Expression(name, kind="b", is_natural=True, is_outcome=True)
    reader.values.let(equation.outvars[1], scalar_value(outcome, np.dtype(np.bool_)))


def _nothing(reader: Reader, equation: Any) -> None:
    pass


OPERATIONS: Mapping[str, Callable[[Reader, Any], None]] = {
    "allocate_qubits": _allocate,
    "check_wires": _nothing,
    "diagonal": _array,
    "follow_script": _nothing,
    "gate": _gate,
    "global_phase": _phase,
    "measure": _measure,
    "release_qubits": _nothing,
    "unitary": _array,
}
