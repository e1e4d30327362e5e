"""Turn `linalg.generic` over rank-0 tensors into the scalar operations of its body.

StableHLO has no scalars, so after its conversion every scalar addition is a loop nest of depth
zero that would allocate a buffer. (Upstream's `linalg-detensorize` is gone.)

    %2 = linalg.generic ins(%0 : tensor<f64>) outs(%1 : tensor<f64>) { ^bb0(%in, %out):
           %3 = math.sin %in : f64
           linalg.yield %3 : f64 } -> tensor<f64>
    ->
    %in = tensor.extract %0[] : tensor<f64>
    %3 = math.sin %in : f64
    %2 = tensor.from_elements %3 : tensor<f64>

Chains of extract and from_elements disappear in the `canonicalize` that follows.
"""

from diastase_mlir.bindings import ir, tensor
from diastase_mlir.passes.operations import operations_named


def detensorize_scalars(module: ir.Module) -> None:
    """Inline every rank-0 `linalg.generic` of the module."""
    found = [
        operation
        for operation in operations_named(module.operation, "linalg.generic")
        if _is_scalar(operation)
    ]
    for generic in found:
        _inline(generic)


def _is_scalar(generic: ir.Operation) -> bool:
    """Whether it has no loops, and tensors of rank 0 for all operands."""
    if len(ir.ArrayAttr(generic.attributes["iterator_types"])) > 0:
        return False
    types = [operand.type for operand in generic.operands]
    return all(isinstance(kind, ir.RankedTensorType) and kind.rank == 0 for kind in types)


def _inline(generic: ir.Operation) -> None:
    """Move the body in front of the operation and drop the operation."""
    body = generic.regions[0].blocks[0]
    with ir.InsertionPoint(generic), generic.location:
        for argument, operand in zip(body.arguments, generic.operands, strict=True):
            if next(iter(argument.uses), None) is not None:
                argument.replace_all_uses_with(tensor.extract(operand, []))
        *operations, terminator = list(body.operations)
        for operation in operations:
            operation.operation.move_before(generic)
        for result, value in zip(generic.results, terminator.operands, strict=True):
            result.replace_all_uses_with(tensor.from_elements(result.type, [value]))
    generic.erase()
