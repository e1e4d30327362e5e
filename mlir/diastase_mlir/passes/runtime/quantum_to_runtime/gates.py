"""Rules for gates, and for what else changes qubits.

Many gates that are one operation are one call, with a table of them. Else the engine has several
functions for a gate of the table: with its wires as arguments, with a table
of them, and each of these with controls. The trap: targets and controls share one table of wires,
targets first.
"""

import struct
from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.gate_runs import read_gate
from diastase_mlir.passes.runtime.engine_calls import RuntimeCalls
from diastase_mlir.passes.runtime.quantum_to_runtime.conversion import Conversion, Qubit, Rule
from diastase_runtime.gate_table import GATES, run_row


def _convert_gate(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    gate = GATES[operation.gate_name.value]
    targets, controls = conversion.qubits_of(operation)
    head = [targets[0].register, calls.site(operation), calls.integer(gate.code)]
    wires = [target.wire for target in targets]
    parameters = list(operation.parameters)
    if gate.entry == "array":
        _call_on_wires(operation, wires, controls, head, calls)
        return
    padded = [
        *wires, *[calls.integer(0)] * (2 - len(wires)),
        *parameters, *[calls.real(0.0)] * (3 - len(parameters)),
    ]  # fmt: skip
    if not controls:
        calls.call("gate", [*head, *padded])
        return
    calls.call("controlled_gate", [*head, *_control_tables(operation, controls, calls), *padded])


def _call_on_wires(
    operation: Any,
    wires: Sequence[ir.Value],
    controls: Sequence[Qubit],
    head: Sequence[ir.Value],
    calls: RuntimeCalls,
) -> None:
    """A gate on an array of wires; targets and controls are one table."""
    numbers = [*wires, *(control.wire for control in controls)]
    _, table = calls.integer_table(numbers)
    targets = [calls.integer(len(wires)), table]
    parameters = calls.real_table(list(operation.parameters))
    if not controls:
        calls.call("gate_on_wires", [*head, *targets, *parameters])
        return
    control_table = calls.offset(table, len(wires))
    values = calls.constant_integers(_control_values(operation))
    arguments = [calls.integer(len(controls)), control_table, values, *targets, *parameters]
    calls.call("controlled_gate_on_wires", [*head, *arguments])


def _convert_run(operation: Any, conversion: Conversion) -> None:
    """A table of the gates, their constants, and the parameters that the program computes."""
    calls = conversion.calls
    sites = ir.DenseI64ArrayAttr(operation.sites)
    table: list[int] = []
    constants: dict[bytes, int] = {}
    for text, site in zip(operation.gates, sites, strict=True):
        gate = read_gate(text.value)
        references = [_reference(number, constants) for number in gate.parameters]
        table += run_row(GATES[gate.name], site, gate.wires, gate.controls, references)
    register, *computed = operation.operation.operands
    is_vector = len(computed) == 1 and isinstance(computed[0].type, ir.RankedTensorType)
    parameters = calls.array(computed[0]) if is_vector else calls.real_table(computed)[1]
    arguments = [calls.integer(len(sites)), calls.constant_integers(table)]
    arguments += [calls.constant_reals(b"".join(constants)), parameters]
    calls.call("gate_run", [register, *arguments])
    operation.result.replace_all_uses_with(register)


def _reference(number: float | str, constants: dict[bytes, int]) -> int:
    """How a table names a parameter: a constant, by its bits, or one found at run time."""
    if isinstance(number, str):
        return -1 - int(number[1:])
    return constants.setdefault(struct.pack("=d", number), len(constants))


def _convert_unitary(operation: Any, conversion: Conversion) -> None:
    _call_with_array(operation, operation.matrix, "unitary", conversion)


def _convert_diagonal(operation: Any, conversion: Conversion) -> None:
    _call_with_array(operation, operation.elements, "diagonal", conversion)


def _call_with_array(operation: Any, array: ir.Value, name: str, conversion: Conversion) -> None:
    """A gate on any wires that is given by an array; targets and controls are one table."""
    calls = conversion.calls
    targets, controls = conversion.qubits_of(operation)
    head = [targets[0].register, calls.site(operation)]
    wires = [qubit.wire for qubit in [*targets, *controls]]
    _, table = calls.integer_table(wires)
    control_table = calls.offset(table, len(targets))
    values = calls.constant_integers(_control_values(operation))
    pointer = calls.array(array)
    counts = calls.integer(len(targets)), calls.integer(len(controls))
    calls.call(name, [*head, counts[0], table, counts[1], control_table, values, pointer])


def _convert_prepare(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    targets = [conversion.qubits[bit] for bit in operation.targets]
    conversion.qubits.update(zip(operation.results, targets, strict=True))
    amplitudes = calls.array(operation.amplitudes)
    wires = calls.integer_table([target.wire for target in targets])
    calls.call("prepare", [targets[0].register, calls.site(operation), *wires, amplitudes])


def _convert_global_phase(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    calls.call("global_phase", [operation.register, calls.site(operation), operation.phi])
    operation.result.replace_all_uses_with(operation.register)


def _convert_measure(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    qubit = conversion.qubits[operation.bit]
    conversion.qubits[operation.result] = qubit
    reset = calls.integer(int(ir.BoolAttr(operation.reset).value))
    postselect = calls.integer(operation.postselect.value)
    arguments = [qubit.register, calls.site(operation), qubit.wire, reset, postselect]
    outcome = calls.call("measure", arguments, ir.IntegerType.get_signless(64))
    operation.outcome.replace_all_uses_with(calls.to_flag(outcome))


def _control_tables(
    operation: Any, controls: Sequence[Qubit], calls: RuntimeCalls
) -> list[ir.Value]:
    """Number of controls, their wires, and the values that activate them."""
    tables = calls.integer_table([control.wire for control in controls])
    return [*tables, calls.constant_integers(_control_values(operation))]


def _control_values(operation: Any) -> list[int]:
    return [int(value) for value in ir.DenseBoolArrayAttr(operation.control_values)]


RULES: dict[str, Rule] = {
    "quantum.gate": _convert_gate,
    "quantum.run": _convert_run,
    "quantum.unitary": _convert_unitary,
    "quantum.diagonal": _convert_diagonal,
    "quantum.prepare": _convert_prepare,
    "quantum.global_phase": _convert_global_phase,
    "quantum.measure": _convert_measure,
}
