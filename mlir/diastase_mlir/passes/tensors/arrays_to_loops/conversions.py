"""Rules for conversions of numbers that MLIR's own conversion leaves undefined, or rounds twice."""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import integer_as_bfloat16, real_part, saturated, signless_type
from diastase_mlir.emit.tensors import elementwise
from diastase_mlir.passes.tensors.arrays_to_loops.rules import Rule, signless_operands


def _convert(operation: Any) -> Sequence[ir.Value] | None:
    source, target = (
        value.type.element_type for value in (operation.operands[0], operation.results[0])
    )
    (operand,) = signless_operands(operation)
    if source == target:  # only sizes that the type knows differ
        return [operand]
    element = signless_type(target)
    if isinstance(target, ir.IntegerType) and not isinstance(source, ir.IntegerType):
        if target.width == 1:
            return None
        unsigned = target.is_unsigned
        return [elementwise(element, lambda x: saturated(real_part(x), element, unsigned), operand)]
    if isinstance(target, ir.BF16Type) and isinstance(source, ir.IntegerType) and source.width > 1:
        unsigned = source.is_unsigned
        return [elementwise(element, lambda x: integer_as_bfloat16(x, unsigned), operand)]
    return None


RULES: dict[str, Rule] = {"stablehlo.convert": _convert}
