"""Operations on registers in the lanes of vectors become calls of their engine.

    %b = quantum.lanes_gate(%r, %angles, %wire) {gate_name = "RX", site = 1}
    ->
    func.call @diastase_import__lanes__gate(%context, %r, %site, %code, …, %wire, %zero, %angles, …)

Part of `quantum_to_runtime`, whose conversion of types and order of calls hold here, too. What is a
number for each lane goes in and comes out through memory.
"""

from collections.abc import Callable
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import LIBRARIES
from diastase_mlir.passes.runtime.engine_calls import EngineCalls
from diastase_mlir.passes.runtime.gate_tables import gate_table
from diastase_runtime.gate_table import gate_of

Rule = Callable[[Any, EngineCalls], None]
"""Converts one operation, at the current insertion point."""

_TARGETS, _PARAMETERS = 2, 3
"""How many the engine's function of gates takes."""


def _alloc(operation: Any, conversion: EngineCalls) -> None:
    sizes = [conversion.integer(size.value) for size in (operation.num_wires, operation.lanes)]
    library = LIBRARIES[str(operation.register.type)]
    arguments = [conversion.site(operation), *sizes, operation.first]
    state = conversion.create_state("state_create", arguments, library)
    operation.register.replace_all_uses_with(state)


def _activate(operation: Any, conversion: EngineCalls) -> None:
    conversion.call("activate", [operation.register, conversion.array(operation.mask)])
    operation.result.replace_all_uses_with(operation.register)


def _gate(operation: Any, conversion: EngineCalls) -> None:
    gate = gate_of(operation.gate_name.value)
    assert gate is not None, "the verifier has found it"
    wires = list(operation.wires)
    targets, controls = wires[: gate.wires], wires[gate.wires :]
    arrays = [conversion.array(parameter) for parameter in operation.parameters]
    arguments = [
        *(operation.register, conversion.site(operation), conversion.integer(gate.code)),
        *conversion.integer_table(controls),
        _control_values(operation, conversion),
        *targets, *[conversion.integer(0)] * (_TARGETS - len(targets)),
        *arrays, *[conversion.nowhere() for _ in range(_PARAMETERS - len(arrays))],
    ]  # fmt: skip
    conversion.call("gate", arguments)
    operation.result.replace_all_uses_with(operation.register)


def _run(operation: Any, conversion: EngineCalls) -> None:
    register, *rows = operation.operation.operands
    parameters = conversion.array(rows[0]) if rows else conversion.nowhere()
    conversion.call("gate_run", [register, *gate_table(operation, conversion), parameters])
    operation.result.replace_all_uses_with(register)


def _unitary(operation: Any, conversion: EngineCalls) -> None:
    """Targets and controls share a table, as the next call only may use one."""
    values = _control_values(operation, conversion)
    controls = len(ir.DenseBoolArrayAttr(operation.control_values))
    targets = len(operation.wires) - controls
    mapped = ir.RankedTensorType(operation.matrix.type).rank == 3
    matrix = conversion.array(operation.matrix)
    _, table = conversion.integer_table(list(operation.wires))
    head = [operation.register, conversion.site(operation), conversion.integer(targets), table]
    rest = [conversion.integer(controls), conversion.offset(table, targets), values]
    conversion.call("unitary", [*head, *rest, conversion.integer(int(mapped)), matrix])
    operation.result.replace_all_uses_with(operation.register)


def _control_values(operation: Any, conversion: EngineCalls) -> ir.Value:
    values = [int(value) for value in ir.DenseBoolArrayAttr(operation.control_values)]
    return conversion.constant_integers(values)


def _measure(operation: Any, conversion: EngineCalls) -> None:
    reset = conversion.integer(int(ir.BoolAttr(operation.reset).value))
    arguments = [operation.register, conversion.site(operation), operation.wire, reset]
    kind = operation.outcomes.type
    outcomes = conversion.filled_by("measure", arguments, kind)
    operation.outcomes.replace_all_uses_with(outcomes)
    operation.result.replace_all_uses_with(operation.register)


def _sample(operation: Any, conversion: EngineCalls) -> None:
    arguments = [operation.register, conversion.site(operation), *_table(operation, conversion)]
    kind = ir.RankedTensorType(operation.samples.type)
    sizes = [conversion.integer(kind.shape[0]), operation.shots]
    samples = conversion.filled_by("sample", [*arguments, operation.shots], kind, sizes)
    operation.samples.replace_all_uses_with(samples)


def _probs(operation: Any, conversion: EngineCalls) -> None:
    arguments = [operation.register, conversion.site(operation), *_table(operation, conversion)]
    kind = operation.probabilities.type
    found = conversion.filled_by("probabilities", arguments, kind)
    operation.probabilities.replace_all_uses_with(found)


def _state(operation: Any, conversion: EngineCalls) -> None:
    kind = operation.amplitudes.type
    amplitudes = conversion.filled_by("amplitudes", [operation.register], kind)
    operation.amplitudes.replace_all_uses_with(amplitudes)


def _pauli_values(operation: Any, conversion: EngineCalls) -> None:
    offsets, paulis = (
        list(ir.DenseI64ArrayAttr(table)) for table in (operation.offsets, operation.paulis)
    )
    arguments = [
        operation.register,
        conversion.site(operation),
        conversion.integer(len(offsets) - 1),
        conversion.constant_integers(offsets),
        conversion.constant_integers(paulis),
        conversion.array(operation.wires),
    ]
    values = conversion.filled_by("pauli_values", arguments, operation.values.type)
    operation.values.replace_all_uses_with(values)


def _table(operation: Any, conversion: EngineCalls) -> list[ir.Value]:
    """Number and addresses of wires."""
    size = ir.RankedTensorType(operation.wires.type).shape[0]
    return [conversion.integer(size), conversion.array(operation.wires)]


RULES: dict[str, Rule] = {
    "lanes_alloc": _alloc,
    "lanes_activate": _activate,
    "lanes_gate": _gate,
    "lanes_run": _run,
    "lanes_unitary": _unitary,
    "lanes_measure": _measure,
    "lanes_sample": _sample,
    "lanes_probs": _probs,
    "lanes_state": _state,
    "lanes_pauli_values": _pauli_values,
}
"""By the operation's name, without the dialect's."""
