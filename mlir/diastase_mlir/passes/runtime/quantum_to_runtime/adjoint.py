"""Rules for adjoint differentiation: the tape of a register is the engine's."""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.runtime.quantum_to_runtime.conversion import Conversion, Rule


def _convert_record(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    calls.call("tape_record", [operation.register, calls.site(operation)])
    operation.result.replace_all_uses_with(operation.register)


def _convert_differentiated(operation: Any, conversion: Conversion) -> None:
    conversion.calls.call("tape_differentiated", [operation.register])
    operation.result.replace_all_uses_with(operation.register)


def _convert_tape_length(operation: Any, conversion: Conversion) -> None:
    number = ir.IntegerType.get_signless(64)
    length = conversion.calls.call("tape_length", [operation.register], number)
    operation.length.replace_all_uses_with(length)


def _convert_sweep(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    kind = operation.result.type
    buffer, pointer = calls.buffer(kind, [operation.size])
    registers = [operation.register, operation.adjoint]
    calls.call("tape_sweep", [*registers, calls.site(operation), operation.size, pointer])
    operation.result.replace_all_uses_with(calls.as_tensor(buffer, kind))


def _convert_set_amplitudes(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    calls.call("set_amplitudes", [operation.register, calls.array(operation.amplitudes)])
    operation.result.replace_all_uses_with(operation.register)


RULES: dict[str, Rule] = {
    "quantum.record": _convert_record,
    "quantum.differentiated": _convert_differentiated,
    "quantum.tape_length": _convert_tape_length,
    "quantum.sweep": _convert_sweep,
    "quantum.set_amplitudes": _convert_set_amplitudes,
}
