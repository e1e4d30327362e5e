"""Rules for registers as vectors: copies, sums, inner products, operators that are no gates.

The engine changes the first register of a call in place.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.runtime.quantum_to_runtime.conversion import (
    Conversion,
    Rule,
    on_wires,
    pauli_tables,
)


def _convert_copy(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [operation.register, calls.site(operation)]
    single = operation.register in calls.in_single_precision
    copy = calls.create_state("state_copy", arguments, single)
    if ir.BoolAttr(operation.blank).value:
        calls.call("state_zero", [copy])
    operation.result.replace_all_uses_with(copy)


def _convert_add_scaled(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [operation.target, operation.source, calls.site(operation)]
    _change(operation, "state_scale_add", [*arguments, calls.array(operation.factor)], conversion)


def _convert_add_pauli_sum(operation: Any, conversion: Conversion) -> None:
    states = [operation.target, operation.source]
    tables = pauli_tables(operation, conversion.calls)
    _change(operation, "add_pauli_sum", [*states, *tables], conversion)


def _convert_inner_product(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    buffer, pointer = calls.buffer(operation.value.type)
    site = calls.site(operation)
    calls.call("inner_product", [operation.bra, operation.ket, site, pointer])
    operation.value.replace_all_uses_with(calls.as_tensor(buffer, operation.value.type))


def _convert_apply_sparse(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    tables = [operation.row_starts, operation.columns, operation.values]
    arguments = [*on_wires(operation, calls), *(calls.array(table) for table in tables)]
    _change(operation, "apply_sparse", arguments, conversion)


def _convert_project_on(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [*on_wires(operation, calls), calls.array(operation.vector)]
    _change(operation, "project_on", arguments, conversion)


def _change(
    operation: Any, function: str, arguments: Sequence[ir.Value], conversion: Conversion
) -> None:
    """A call that changes the first of its arguments, which the operation gives."""
    conversion.calls.call(function, arguments)
    operation.result.replace_all_uses_with(arguments[0])


RULES: dict[str, Rule] = {
    "quantum.copy": _convert_copy,
    "quantum.add_scaled": _convert_add_scaled,
    "quantum.add_pauli_sum": _convert_add_pauli_sum,
    "quantum.inner_product": _convert_inner_product,
    "quantum.apply_sparse": _convert_apply_sparse,
    "quantum.project_on": _convert_project_on,
}
