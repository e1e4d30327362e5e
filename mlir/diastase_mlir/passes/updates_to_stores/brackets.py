"""Brackets: writes that change nothing, and show bufferization where memory is written.

The first bracket of a chain stands for its memory: a cast of nothing is used where the memory is,
until bufferization has said which memory that is.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import create

_BRACKET = "diastase.bracket"
"""An attribute of what `without_brackets` removes: the number of the chain, or -1 at its end."""
_PARALLEL = "#linalg.iterator_type<parallel>"


def bracket(array: ir.Value, number: int = -1) -> ir.Operation:
    """Write an array over itself."""
    kind = ir.RankedTensorType(array.type)
    same = ir.AffineMap.get_identity(kind.rank)
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(same)]),
        "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(_PARALLEL)] * kind.rank),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 1]),
        _BRACKET: _number(number),
    }
    generic = create("linalg.generic", [kind], [array], attributes, regions=1)
    body = ir.Block.create_at_start(generic.regions[0], [kind.element_type])
    with ir.InsertionPoint(body):
        create("linalg.yield", (), list(body.arguments))
    return generic


def memory_of(first: ir.Operation, number: int) -> ir.Value:
    """What stands for the memory that a first bracket writes, after it."""
    kind = any_layout(ir.RankedTensorType(first.results[0].type))
    attributes = {_BRACKET: _number(number)}
    return create("builtin.unrealized_conversion_cast", [kind], (), attributes).results[0]


def any_layout(kind: ir.RankedTensorType) -> ir.MemRefType:
    """The type of memory for an array, whatever way it is laid out."""
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(unknown, [unknown] * kind.rank)
    return ir.MemRefType.get(kind.shape, kind.element_type, layout)


def without_brackets(module: ir.Module) -> None:
    """Remove the brackets, and say what memory it was; just after bufferization."""
    memories: dict[int, ir.Value] = {}
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if _BRACKET in operation.attributes:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for operation in found:
        number = ir.IntegerAttr(operation.attributes[_BRACKET]).value
        if operation.name == "linalg.generic":
            memories[number] = operation.operands[0]
        else:
            with ir.InsertionPoint(operation), operation.location:
                kinds = [operation.results[0].type], [memories[number]]
                cast = create("memref.cast", *kinds)
            operation.results[0].replace_all_uses_with(cast.results[0])
        operation.erase()


def _number(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
