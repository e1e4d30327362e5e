"""Remove the casts that hide the sizes of what a loop resizes; just before arrays become memory.

A loop that changes the size of an array carries it under a type with an unknown size. MLIR's
canonicalisation refines such a type to that of the initial value (`ForOpTensorCastFolder`), though
the body does not keep it; so lowering passes the initial value through a cast that no fold applies
to (`emit.tensors.hidden`). Its second operand, a flag, is there for that alone.

    %1 = builtin.unrealized_conversion_cast %0, %true : tensor<?xf64>, i1 to tensor<?xf64>   ->   %0
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import operations_named


def drop_barriers(module: ir.Module) -> None:
    """Replace the result of each such cast by its first operand."""
    found = [
        operation
        for operation in operations_named(module.operation, "builtin.unrealized_conversion_cast")
        if len(operation.operands) == 2
    ]
    for operation in found:
        operation.results[0].replace_all_uses_with(operation.operands[0])
        operation.erase()
