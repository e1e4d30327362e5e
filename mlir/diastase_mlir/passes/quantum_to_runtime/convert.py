"""The pass: every quantum operation by its rule, in the order of the module.

Values that control flow carries change their types first. The trap: operations are erased last, in
reverse, as rules look at the operands of operations that were converted before.
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.quantum_to_runtime import gates, measurements, registers, vectors
from diastase_mlir.passes.quantum_to_runtime.conversion import Conversion, Rule
from diastase_mlir.passes.runtime_calls import RuntimeCalls

_RULES: dict[str, Rule] = {
    **registers.RULES, **gates.RULES, **measurements.RULES, **vectors.RULES,
}  # fmt: skip


def quantum_to_runtime(module: ir.Module) -> None:
    """Convert every quantum operation and type of the module."""
    operations: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("quantum."):
            operations.append(operation.opview)
        else:
            _convert_types(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    conversion = Conversion(RuntimeCalls(module), {})
    for operation in operations:
        conversion.calls.move_to(operation)
        with ir.InsertionPoint(operation), operation.location:
            _RULES[operation.OPERATION_NAME](operation, conversion)
    for operation in reversed(operations):
        operation.operation.erase()
    conversion.calls.finish()


def _convert_types(operation: ir.Operation) -> None:
    """Registers that control flow carries become pointers."""
    values: list[ir.Value] = list(operation.results)
    for region in operation.regions:
        for block in region.blocks:
            values.extend(block.arguments)
    for value in values:
        if str(value.type) == "!quantum.register":
            value.set_type(ir.Type.parse("!llvm.ptr"))
