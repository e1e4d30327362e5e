"""Equations that act on a register, as items: a table of rules by primitive, and one for others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diastase.inspection.pictures.items import Item, Measurement, Operation, Result, Wire
from diastase.inspection.pictures.labels import (
    SUM,
    gate_label,
    pauli_label,
)
from diastase.inspection.pictures.reader import Reader
from diastase.primitives.define import PRIMITIVES, Role, has_role
from diastase.primitives.quantum import is_register
from diastase_mlir import word_of

Rule = Callable[[Reader, Any], Sequence[Item]]


def _allocate(reader: Reader, equation: Any) -> Sequence[Item]:
    number = equation.params["num_wires"]
    if number is None:
        known = reader.words.value(equation.invars[0])
        number = 0 if known is None else known
    reader.size = int(number)
    return []


def _nothing(reader: Reader, equation: Any) -> Sequence[Item]:
    return []


def _gate(reader: Reader, equation: Any) -> Sequence[Item]:
    params, name = equation.params, equation.params["name"]
    targets, controls, values = _parts(reader, equation)
    count = params["num_parameters"]
    parameters = reader.parameters(equation.invars[1 : 1 + count])
    word = word_of(name)
    if word is not None:
        return [Operation("R", targets, parameters, controls, values, word)]
    label = gate_label(name, len(targets), count)
    own, targets = targets[: label.controls], targets[label.controls :]
    values = (*[True] * label.controls, *values)
    return [Operation(label.text, targets, parameters, (*own, *controls), values)]


def _parts(
    reader: Reader, equation: Any
) -> tuple[tuple[Wire, ...], tuple[Wire, ...], tuple[bool, ...]]:
    """Targets, controls and the controls' values."""
    wires = reader.wires(equation, equation.params["wires"])
    values = tuple(map(bool, equation.params.get("control_values", ())))
    count = len(wires) - len(values)
    return wires[:count], wires[count:], values


def _of_array(reader: Reader, equation: Any) -> Sequence[Item]:
    """A gate by its matrix or its diagonal."""
    targets, controls, values = _parts(reader, equation)
    matrix = reader.words.value(equation.invars[1])
    words = reader.words.text(equation.invars[1])
    label = words if matrix is None else reader.matrices.label(matrix)
    is_known = label != "…" and not label.startswith("f(")
    return [Operation(f"U({label})" if is_known else "U", targets, (), controls, values)]


def _prepare(reader: Reader, equation: Any) -> Sequence[Item]:
    return [Operation("|Ψ⟩", reader.wires(equation, equation.params["wires"]))]


def _channel(reader: Reader, equation: Any) -> Sequence[Item]:
    wires = reader.wires(equation, equation.params["wires"])
    return [Operation(equation.params["construct"], wires)]


def _global_phase(reader: Reader, equation: Any) -> Sequence[Item]:
    return [Operation("GlobalPhase", (), reader.parameters(equation.invars[1:]))]


def _measure(reader: Reader, equation: Any) -> Sequence[Item]:
    params, outcome = equation.params, reader.next_outcome()
    reader.words.name(equation.outvars[1], outcome)
    wires = reader.wires(equation, params["wires"])
    word = "" if params["word"] == "Z" else params["word"]
    return [Measurement(outcome, wires, word, params["reset"], params["postselect"])]


def _pauli_result(reader: Reader, equation: Any) -> Sequence[Item]:
    words = equation.params["words"]
    wires = reader.wires(equation, [wire for word in words for _, wire in word])
    pattern = _OBSERVED[equation.primitive.name.partition("_")[0]]
    return _result(reader, equation, pattern.format(pauli_label(words)), wires)


def _matrix_result(reader: Reader, equation: Any) -> Sequence[Item]:
    pattern = _OBSERVED[equation.primitive.name.partition("_")[0]]
    wires = reader.wires(equation, equation.params["wires"])
    return _result(reader, equation, pattern.format(SUM), wires)


def _other_result(reader: Reader, equation: Any) -> Sequence[Item]:
    name = equation.primitive.name
    wires = reader.wires(equation, equation.params.get("wires", ()))
    return _result(reader, equation, _RESULTS.get(name, PRIMITIVES[name].construct), wires)


def _result(reader: Reader, equation: Any, text: str, wires: Sequence[Wire]) -> Sequence[Item]:
    reader.name_results(equation, text)
    return [Result(text, tuple(dict.fromkeys(wires)))]


def other_operation(reader: Reader, equation: Any) -> Sequence[Item]:
    """An equation of any other kind, on all wires, or on those that it names."""
    if has_role(equation, Role.MEASUREMENT):
        return _other_result(reader, equation)
    reader.name_results(equation, equation.primitive.name)
    if not any(map(is_register, equation.outvars)):
        return []
    wires = reader.wires(equation, equation.params.get("wires", ()))
    return [Operation(equation.primitive.name, wires)]


_OBSERVED = {"expval": "<{}>", "var": "Var[{}]"}
_RESULTS = {
    "probs": "Probs",
    "state": "State",
    "density_matrix": "DensityMatrix",
    "sample": "Sample",
}

OPERATIONS: Mapping[str, Rule] = {
    "allocate_qubits": _allocate,
    "release_qubits": _nothing,
    "check_wires": _nothing,
    "follow_script": _nothing,
    "gate": _gate,
    "unitary": _of_array,
    "diagonal": _of_array,
    "prepare": _prepare,
    "kraus": _channel,
    "superoperator": _channel,
    "replace": lambda reader, equation: [
        Operation("QubitDensityMatrix", reader.wires(equation, equation.params["wires"]))
    ],
    "global_phase": _global_phase,
    "measure": _measure,
    "expval_pauli": _pauli_result,
    "var_pauli": _pauli_result,
    "expval_matrix": _matrix_result,
    "var_matrix": _matrix_result,
}
