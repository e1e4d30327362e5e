"""Rules for conversions of numbers: by value (`convert`), and by their bits (`bitcast_convert`).

Of those by value only what MLIR's own conversion leaves undefined, or rounds twice.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import (
    binary,
    create,
    index_constant,
    integer_as_bfloat16,
    integer_type,
    real_part,
    saturated,
    scalar_constant,
    signless_type,
)
from diastase_mlir.emit.tensors import Size, element_type, elementwise, extract, generate, sizes_of
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


def _bitcast_convert(operation: Any) -> Sequence[ir.Value] | None:
    """Another width adds or takes the last axis."""
    (operand,) = signless_operands(operation)
    wanted: Any = signless_type(operation.results[0].type.element_type)
    own: Any = element_type(operand)
    if own == wanted:
        return [operand]
    if any(isinstance(kind, ir.ComplexType) for kind in (own, wanted)):
        return None
    if own.width == wanted.width:
        return [elementwise(wanted, lambda number: _bitcast(number, wanted), operand)]
    sizes: list[Size] = sizes_of(operand)
    if own.width < wanted.width:
        parts = wanted.width // own.width

        def joined(position: list[ir.Value]) -> ir.Value:
            pieces = [extract(operand, [*position, index_constant(n)]) for n in range(parts)]
            return _bitcast(_joined(pieces, own.width, wanted.width), wanted)

        return [generate(sizes[:-1], wanted, joined)]

    def part(position: list[ir.Value]) -> ir.Value:
        *outer, number = position
        whole = _bitcast(extract(operand, outer), integer_type(own.width))
        index = create("arith.index_cast", [whole.type], [number]).result
        offset = binary("arith.muli", index, scalar_constant(whole.type, wanted.width))
        shifted = binary("arith.shrui", whole, offset)
        piece = create("arith.trunci", [integer_type(wanted.width)], [shifted]).result
        return _bitcast(piece, wanted)

    return [generate([*sizes, own.width // wanted.width], wanted, part)]


def _bitcast(number: ir.Value, wanted: ir.Type) -> ir.Value:
    """The same bits under another type of the same width."""
    if number.type == wanted:
        return number
    return create("arith.bitcast", [wanted], [number]).result


def _joined(pieces: list[ir.Value], width: int, new_width: int) -> ir.Value:
    """Pieces as one integer, the first of them lowest (this is what memory looks like)."""
    wide = integer_type(new_width)
    total = scalar_constant(wide, 0)
    for number, piece in enumerate(pieces):
        bits = _bitcast(piece, integer_type(width))
        extended = create("arith.extui", [wide], [bits]).result
        offset = scalar_constant(wide, number * width)
        total = binary("arith.ori", total, binary("arith.shli", extended, offset))
    return total


RULES: dict[str, Rule] = {
    "stablehlo.convert": _convert,
    "stablehlo.bitcast_convert": _bitcast_convert,
}
