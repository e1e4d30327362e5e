"""Rules for outcome scripts, which the engine keeps: a number becomes the pointer that it is."""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.operations import create
from diastase_mlir.dialects.quantum import SCRIPT_MODES
from diastase_mlir.passes.runtime.quantum_to_runtime.conversion import Conversion, Rule


def _convert_uniform(operation: Any, conversion: Conversion) -> None:
    number = conversion.calls.call("uniform", [], ir.F64Type.get())
    operation.number.replace_all_uses_with(number)


def _convert_outcome_script(operation: Any, conversion: Conversion) -> None:
    calls, word = conversion.calls, ir.IntegerType.get_signless(64)
    mode = calls.integer(SCRIPT_MODES[operation.mode.value])
    script = calls.call("script_begin", [mode], ir.Type.parse("!llvm.ptr"))
    address = create("llvm.ptrtoint", [word], [script]).result
    operation.script.replace_all_uses_with(address)


def _convert_next_run(operation: Any, conversion: Conversion) -> None:
    operation.exists.replace_all_uses_with(_flag("script_next", operation, conversion))


def _convert_run_weight(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    weight = calls.call("script_weight", [calls.pointer(operation.script)], ir.F64Type.get())
    operation.weight.replace_all_uses_with(weight)


def _convert_run_is_valid(operation: Any, conversion: Conversion) -> None:
    operation.holds.replace_all_uses_with(_flag("script_is_valid", operation, conversion))


def _convert_require_weight(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    calls.call("script_require", [calls.pointer(operation.script), operation.total])


def _convert_end_script(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    calls.call("script_end", [calls.pointer(operation.script)])


def _flag(name: str, operation: Any, conversion: Conversion) -> ir.Value:
    calls, word = conversion.calls, ir.IntegerType.get_signless(64)
    return calls.to_flag(calls.call(name, [calls.pointer(operation.script)], word))


RULES: dict[str, Rule] = {
    "quantum.uniform": _convert_uniform,
    "quantum.outcome_script": _convert_outcome_script,
    "quantum.next_run": _convert_next_run,
    "quantum.run_weight": _convert_run_weight,
    "quantum.run_is_valid": _convert_run_is_valid,
    "quantum.require_weight": _convert_require_weight,
    "quantum.end_script": _convert_end_script,
}
