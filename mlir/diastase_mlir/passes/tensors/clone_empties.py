"""Give each use of an array of undefined contents an array of its own; before bufferization.

    %0 = tensor.empty() : tensor<2xf64>       two loops that fill %0
    ->
    %0 = tensor.empty() : tensor<2xf64>       the first loop fills %0
    %1 = tensor.empty() : tensor<2xf64>       the second fills %1

Common subexpressions are merged before, arrays of undefined contents among them. Bufferization
takes it that nobody can want what such an array held before, and gives all its uses one buffer: a
loop inside of another then writes over what the outer one has gathered.

Each stands where it is used, not with the others at the first use: memory is taken as late as it
can be, and what `split_functions` cuts into parts need not get it from the part before.

Arrays that are filled with one number are separated, too: all but one of the products that begin
with the same zeros would get a copy of them, where `matmul_to_blas` looks for the fill itself.
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import operations_named


def clone_empties(module: ir.Module) -> None:
    """Copy each `tensor.empty` for every use but the first, and before that each `linalg.fill`."""
    fills = operations_named(module.operation, "linalg.fill")
    for operation in (*fills, *operations_named(module.operation, "tensor.empty")):
        uses = [(use.owner, use.operand_number) for use in operation.results[0].uses]
        if not uses:
            continue
        first, *others = [(owner, number, _around(owner, operation)) for owner, number in uses]
        for owner, number, place in others:
            owner.operands[number] = operation.clone(ir.InsertionPoint(place)).results[0]
        if first[-1] != operation:
            operation.move_before(first[-1])


def _around(user: Any, operation: ir.Operation) -> ir.Operation:
    """What stands beside an operation and is or contains its user; else the operation itself."""
    block, nested = operation.block, user.operation
    while nested is not None and nested.block != block:
        nested = None if nested.name == "func.func" else nested.parent.operation
    return operation if nested is None else nested
