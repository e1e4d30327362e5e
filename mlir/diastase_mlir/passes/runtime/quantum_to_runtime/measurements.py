"""Rules for what is found out about a state; the register stays as it is.

A number is the result of the call; an array is written by the engine into memory of ours.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.runtime.engine_calls import RuntimeCalls
from diastase_mlir.passes.runtime.quantum_to_runtime.conversion import (
    Conversion,
    Rule,
    on_wires,
    pauli_tables,
)


def _convert_pauli_statistic(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [operation.register, *pauli_tables(operation, calls)]
    name = operation.OPERATION_NAME.removeprefix("quantum.")
    operation.value.replace_all_uses_with(calls.call(name, arguments, ir.F64Type.get()))


def _convert_matrix_statistic(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [*on_wires(operation, calls), calls.array(operation.matrix)]
    name = operation.OPERATION_NAME.removeprefix("quantum.")
    operation.value.replace_all_uses_with(calls.call(name, arguments, ir.F64Type.get()))


def _convert_probabilities(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = on_wires(operation, calls)
    _fill_result(operation, "probabilities", arguments, calls, list(operation.sizes))


def _convert_sample(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [*on_wires(operation, calls), operation.shots]
    _fill_result(operation, "sample", arguments, calls, [operation.shots])


def _convert_state(operation: Any, conversion: Conversion) -> None:
    arguments, calls = [operation.register], conversion.calls
    _fill_result(operation, "amplitudes", arguments, calls, list(operation.sizes))


def _convert_density_matrix(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    _fill_result(operation, "density_matrix", on_wires(operation, calls), calls)


def _fill_result(
    operation: Any,
    function: str,
    arguments: Sequence[ir.Value],
    calls: RuntimeCalls,
    sizes: Sequence[ir.Value] = (),
) -> None:
    """The engine writes into memory of ours, which then is the result."""
    buffer, pointer = calls.buffer(operation.result.type, sizes)
    calls.call(function, [*arguments, pointer])
    operation.result.replace_all_uses_with(calls.as_tensor(buffer, operation.result.type))


RULES: dict[str, Rule] = {
    "quantum.expval_pauli": _convert_pauli_statistic,
    "quantum.var_pauli": _convert_pauli_statistic,
    "quantum.expval_matrix": _convert_matrix_statistic,
    "quantum.var_matrix": _convert_matrix_statistic,
    "quantum.probabilities": _convert_probabilities,
    "quantum.sample": _convert_sample,
    "quantum.state": _convert_state,
    "quantum.density_matrix": _convert_density_matrix,
}
