"""Rules for operations on whole registers.

A register becomes a pointer, and an operation that changes one gives the same pointer.
"""

from typing import Any

from diastase_mlir.passes.runtime.quantum_to_runtime.conversion import Conversion, Qubit, Rule


def _convert_alloc(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [calls.site(operation), operation.num_wires]
    single = str(operation.register.type) == "!quantum.single_register"
    state = calls.create_state("state_create", arguments, single)
    operation.register.replace_all_uses_with(state)


def _convert_release(operation: Any, conversion: Conversion) -> None:
    conversion.calls.call("state_release", [operation.register])


def _convert_extract(operation: Any, conversion: Conversion) -> None:
    conversion.qubits[operation.bit] = Qubit(operation.register, operation.wire)


def _convert_insert(operation: Any, conversion: Conversion) -> None:
    operation.result.replace_all_uses_with(operation.register)


def _convert_check_wires(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    register, *wires = operation.operation.operands
    calls.call("check_wires", [register, calls.site(operation), *calls.integer_table(wires)])


def _convert_follow(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    calls.call("state_follow", [operation.register, calls.pointer(operation.script)])
    operation.result.replace_all_uses_with(operation.register)


RULES: dict[str, Rule] = {
    "quantum.alloc": _convert_alloc,
    "quantum.release": _convert_release,
    "quantum.extract": _convert_extract,
    "quantum.insert": _convert_insert,
    "quantum.check_wires": _convert_check_wires,
    "quantum.follow": _convert_follow,
}
