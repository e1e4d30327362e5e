"""The operation `linalg.contract`: a batch of matrix products, as loops or for BLAS.

    result[batch…, i, j] = sum over k of left[batch…, i, k] * right[batch…, k, j]

Axes are named; those of an operand may stand in any order, and `i` or `j` may be missing. The loops
run over the batch, then `i`, `k`, `j`: the innermost one reads and writes neighbours. A product
that is worth a call carries a mark, by which the pass `matmul_to_blas` finds it.
Operands and result are hidden until arrays are memory: MLIR would merge the product with a reshape
beside it, and what comes out would carry no attribute.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.library_calls import MARK, is_for_blas
from diastase_mlir.emit.operations import array_attribute, binary, create, scalar_constant
from diastase_mlir.emit.tensors import Size, element_type, empty, hidden

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Operand:
    """An array of signless elements, and names of its axes."""

    value: ir.Value
    labels: Labels


def multiply_matrices(
    left: Operand,
    right: Operand,
    result: Labels,
    loops: Labels,
    sizes: dict[str, Size],
) -> ir.Value:
    """The products; `loops` names all axes, from the outermost loop to the innermost."""
    element = element_type(left.value)
    zeros = fill(scalar_constant(element, 0), [sizes[label] for label in result])
    operands = [hidden(left.value), hidden(right.value), zeros]
    maps = [
        ir.AffineMap.get(
            len(loops), 0, [ir.AffineExpr.get_dim(loops.index(label)) for label in own]
        )
        for own in (left.labels, right.labels, result)
    ]
    attributes: dict[str, ir.Attribute] = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(own) for own in maps]),
        "operandSegmentSizes": array_attribute("i32", [2, 1]),
    }
    names = (left.labels, right.labels, result)
    own = [label for label in loops if not all(label in labels for labels in names)]
    if is_for_blas(element, [sizes[label] for label in own]):
        attributes[MARK] = ir.UnitAttr.get()
        _mark_module()
    operation = create("linalg.contract", [zeros.type], operands, attributes, regions=1)
    block = operation.regions[0].blocks.append(*[element] * 3, arg_locs=[ir.Location.current] * 3)
    with ir.InsertionPoint(block):
        create("linalg.yield", [], [add_product(element, *block.arguments)])
    return hidden(operation.results[0])


def _mark_module() -> None:
    """Say that there are products for BLAS in the module that is emitted into."""
    point: Any = ir.InsertionPoint.current
    operation = point.block.owner
    while operation.operation.parent is not None:
        operation = operation.operation.parent
    operation.operation.attributes[MARK] = ir.UnitAttr.get()


def fill(scalar: ir.Value, sizes: Sequence[Size]) -> ir.Value:
    """An array of equal elements, written where it is needed: never merged into what reads it."""
    target = empty(sizes, scalar.type)
    attributes = {"operandSegmentSizes": array_attribute("i32", [1, 1])}
    operation = create("linalg.fill", [target.type], [scalar, target], attributes, regions=1)
    block = operation.regions[0].blocks.append(
        scalar.type, scalar.type, arg_locs=[ir.Location.current] * 2
    )
    with ir.InsertionPoint(block):
        create("linalg.yield", [], [block.arguments[0]])
    return operation.results[0]


def add_product(element: ir.Type, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
    """`total + x * y`; of booleans whether any pair is true."""
    if isinstance(element, ir.ComplexType):
        return binary("complex.add", total, binary("complex.mul", x, y))
    if isinstance(element, ir.IntegerType):
        is_flag = element.width == 1
        times, plus = ("arith.andi", "arith.ori") if is_flag else ("arith.muli", "arith.addi")
        return binary(plus, total, binary(times, x, y))
    return binary("arith.addf", total, binary("arith.mulf", x, y))
