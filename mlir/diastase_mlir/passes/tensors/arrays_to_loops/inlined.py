"""The region of an operation, say what a scatter combines elements by, emitted on scalars."""

from collections.abc import Callable
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import to_signless
from diastase_mlir.passes.tensors.scalarize import RULES
from diastase_mlir.passes.tensors.scalarize.conversion import Conversion
from diastase_mlir.passes.tensors.scalarize.deferred import scalar_of
from diastase_mlir.passes.tensors.scalarize.regions import uncarried

Function = Callable[..., list[ir.Value]]
"""Scalars in, scalars out; integers are signless."""


def function_of(region: Any) -> Function:
    """A region of one block, whose arguments and results are numbers, as what emits its body.

    What `scalarize` has no rule for stays as it is, on arrays of rank 0.
    """
    (block,) = region.blocks

    def emit(*scalars: ir.Value) -> list[ir.Value]:
        conversion = Conversion(RULES)
        for argument, scalar in zip(block.arguments, scalars, strict=True):
            conversion.define(argument, uncarried(scalar, argument.type))
        *operations, last = list(block.operations)
        for view in operations:
            operation = view.operation
            copy = operation.clone()
            conversion.operations([copy])
            for own, result in zip(operation.results, copy.results, strict=True):
                conversion.define(own, conversion.value(result))
        results = [conversion.value(value) for value in last.operands]
        emitted = [_scalar(value) for value in results]
        conversion.erase()
        return emitted

    return emit


def _scalar(value: Any) -> ir.Value:
    return scalar_of(to_signless(value) if isinstance(value, ir.Value) else value)
