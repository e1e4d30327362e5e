"""The pass: every quantum operation by its rule, in the order of the module.

Values that control flow carries change their types first; which of them are in single precision is
kept, as another engine serves these. The trap: operations are erased last, in
reverse, as rules look at the operands of operations that were converted before.
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.circuit import REGISTERS
from diastase_mlir.passes.runtime.engine_calls import RuntimeCalls
from diastase_mlir.passes.runtime.quantum_to_runtime import (
    adjoint,
    gates,
    measurements,
    outcome_scripts,
    registers,
    vectors,
)
from diastase_mlir.passes.runtime.quantum_to_runtime.conversion import Conversion, Rule

_RULES: dict[str, Rule] = {
    **registers.RULES, **gates.RULES, **measurements.RULES, **vectors.RULES,
    **adjoint.RULES, **outcome_scripts.RULES,
}  # fmt: skip


def quantum_to_runtime(module: ir.Module) -> None:
    """Convert every quantum operation and type of the module."""
    operations: list[Any] = []
    calls = RuntimeCalls(module)

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("quantum."):
            operations.append(operation.opview)
        else:
            _convert_types(operation, calls)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    conversion = Conversion(calls, {})
    for operation in operations:
        conversion.calls.move_to(operation)
        with ir.InsertionPoint(operation), operation.location:
            _RULES[operation.OPERATION_NAME](operation, conversion)
    for operation in reversed(operations):
        operation.operation.erase()
    conversion.calls.finish()


def _convert_types(operation: ir.Operation, calls: RuntimeCalls) -> None:
    """Registers that control flow carries become pointers."""
    values: list[ir.Value] = list(operation.results)
    for region in operation.regions:
        for block in region.blocks:
            values.extend(block.arguments)
    for value in values:
        kind = str(value.type)
        if kind == "!quantum.single_register":
            calls.in_single_precision.add(value)
        if kind in REGISTERS:
            value.set_type(ir.Type.parse("!llvm.ptr"))
