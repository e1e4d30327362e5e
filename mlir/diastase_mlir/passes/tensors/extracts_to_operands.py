"""What the body of a loop over elements reads at its own place becomes an operand; before fusion.

    %0 = linalg.generic outs(%e : tensor<9xf64>) { ^bb0(%out: f64):
           %i = linalg.index 0 : index
           %x = tensor.extract %t[%i] : tensor<9xf64>
           linalg.yield %x : f64 }
    ->
    %0 = linalg.generic ins(%t : tensor<9xf64>) outs(%e : tensor<9xf64>) { ^bb0(%x: f64, %out: f64):
           linalg.yield %x : f64 }

Lowering writes a broadcast, a reshape or a gather as a formula of a position, and what is read in a
formula is nothing that fusion sees: it would be computed as an array first. Only reads of arrays
that are known to be as large as the loops are concerned, as an operand says how far a loop goes.

Arrays that hold one number everywhere are not read: the number is used. Others that are as quickly
computed as read (positions, say) are computed in each loop that reads them.
"""

from dataclasses import dataclass

from diastase_mlir.bindings import arith, ir, tensor
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.operations import (
    SAME_ELEMENTS,
    constant_of,
    defining,
    maps_of,
    operations_named,
    parallel_loops,
)

_QUICK = frozenset(
    "arith.constant arith.index_cast arith.sitofp arith.uitofp arith.addi arith.addf arith.extsi "
    "arith.trunci linalg.index linalg.yield".split()
)
_MOST_OPERATIONS = 6


_Size = int | ir.Value | tuple[ir.Value, int]
"""A number, a value that was given as the size, or an array and its axis."""


@dataclass(frozen=True)
class _Read:
    """A read of an array, and along which loops it goes."""

    extract: ir.Operation
    affine_map: ir.AffineMap


def extracts_to_operands(module: ir.Module) -> None:
    """Rewrite what every `linalg.generic` reads, in place."""
    generics = operations_named(module.operation, "linalg.generic")
    for generic in generics:
        _take_constants(generic)
    found = [generic for generic in generics if _is_elementwise(generic)]
    for number, generic in enumerate(found):
        reads = _reads(generic)
        if reads:
            found[number] = _with_operands(generic, reads)
    for generic in found:
        if _is_quick(generic):
            _repeat_for_uses(generic)


def _is_elementwise(generic: ir.Operation) -> bool:
    return len(generic.results) == 1 and all(parallel_loops(generic))


def _reads(generic: ir.Operation) -> list[_Read]:
    """Those reads of the body that can be operands."""
    maps = maps_of(generic)
    if not maps[-1].is_permutation:
        return []
    place = {
        ir.AffineDimExpr(result).position: axis for axis, result in enumerate(maps[-1].results)
    }
    destination = generic.operands[len(generic.operands) - 1]
    reads: list[_Read] = []
    for operation in generic.regions[0].blocks[0].operations:
        if operation.operation.name != "tensor.extract":
            continue
        array, *indices = operation.operands
        axes = [_axis(array, axis, index, destination, place) for axis, index in enumerate(indices)]
        known = [axis for axis in axes if axis is not None]
        if axes and len(known) == len(axes):
            affine_map = ir.AffineMap.get(maps[-1].n_dims, 0, known)
            reads.append(_Read(operation.operation, affine_map))
    return reads


def _axis(
    array: ir.Value, axis: int, index: ir.Value, destination: ir.Value, place: dict[int, int]
) -> ir.AffineExpr | None:
    """Along which loop an index goes: one as long as the axis, or none, along an axis of 1."""
    owner = defining(index)
    if owner is not None and owner.name == "linalg.index":
        loop = ir.IntegerAttr(owner.attributes["dim"]).value
        same = _same_size(array, axis, destination, place[loop])
        return ir.AffineDimExpr.get(loop) if same else None
    kind = ir.RankedTensorType(array.type)
    is_only = constant_of(index) == 0 and list(kind.shape)[axis] == 1
    return ir.AffineConstantExpr.get(0) if is_only else None


def _same_size(one: ir.Value, axis: int, other: ir.Value, other_axis: int) -> bool:
    first, second = _size(one, axis), _size(other, other_axis)
    return (
        first == second or _is_size_of(first, other, other_axis) or _is_size_of(second, one, axis)
    )


def _size(array: ir.Value, axis: int) -> _Size:
    """The number of elements along an axis, or where it is from."""
    kind = ir.RankedTensorType(array.type)
    if not kind.is_dynamic_dim(axis):
        return kind.get_dim_size(axis)
    owner = defining(array)
    if owner is None:
        return array, axis
    if owner.name == "linalg.generic":
        return _size(owner.operands[len(owner.operands) - 1], axis)
    if owner.name == "tensor.empty":
        return owner.operands[sum(kind.is_dynamic_dim(before) for before in range(axis))]
    return array, axis


def _is_size_of(size: _Size, array: ir.Value, axis: int) -> bool:
    """Whether a value was asked from an array as the size of its axis."""
    owner = defining(size) if isinstance(size, ir.Value) else None
    if owner is None or owner.name != "tensor.dim" or owner.operands[0] != array:
        return False
    return constant_of(owner.operands[1]) == axis


def _with_operands(generic: ir.Operation, reads: list[_Read]) -> ir.Operation:
    """Replace an operation by one with more operands, before those that it had."""
    attributes = dict(generic.attributes.items())
    maps = [ir.AffineMapAttr.get(read.affine_map) for read in reads]
    attributes["indexing_maps"] = ir.ArrayAttr.get(
        [*maps, *ir.ArrayAttr(attributes["indexing_maps"])]
    )
    inputs, outputs = ir.DenseI32ArrayAttr(attributes["operandSegmentSizes"])
    segments = ir.DenseI32ArrayAttr.get([inputs + len(reads), outputs])
    attributes["operandSegmentSizes"] = segments
    operands = [*(read.extract.operands[0] for read in reads), *generic.operands]
    body = generic.regions[0].blocks[0]
    kinds = [*(read.extract.results[0].type for read in reads), *(a.type for a in body.arguments)]
    with ir.InsertionPoint(generic), generic.location:
        types = [result.type for result in generic.results]
        new = create("linalg.generic", types, operands, attributes, regions=1)
        block = ir.Block.create_at_start(new.regions[0], kinds)
        with ir.InsertionPoint(block):
            end = arith.constant(ir.IndexType.get(), 0).owner
    for read, argument in zip(reads, block.arguments, strict=False):
        read.extract.results[0].replace_all_uses_with(argument)
        read.extract.erase()
    for old, argument in zip(body.arguments, list(block.arguments)[len(reads) :], strict=True):
        old.replace_all_uses_with(argument)
    for operation in list(body.operations):
        operation.operation.move_before(end)
    end.erase()
    generic.results[0].replace_all_uses_with(new.results[0])
    generic.erase()
    return new


def _take_constants(generic: ir.Operation) -> None:
    """Use the number itself where an input (not a result so far) holds one number everywhere."""
    inputs, _ = ir.DenseI32ArrayAttr(generic.attributes["operandSegmentSizes"])
    arguments = generic.regions[0].blocks[0].arguments
    for position in range(inputs):
        number = _number_everywhere(generic.operands[position])
        if number is not None:
            arguments[position].replace_all_uses_with(number)


def _number_everywhere(array: ir.Value) -> ir.Value | None:
    """The number that all elements of an array are, if it was filled with one."""
    owner = defining(array)
    if owner is None:
        return None
    if owner.name in SAME_ELEMENTS:
        return _number_everywhere(owner.operands[0])
    if owner.name == "linalg.fill":
        return owner.operands[0]
    if owner.name != "linalg.generic" or len(owner.results) != 1:
        return None
    body = owner.regions[0].blocks[0]
    *before, terminator = body.operations
    number = terminator.operands[0]
    if before:
        return None
    if not isinstance(number.owner, ir.Block) or number.owner != body:
        return number
    source = owner.operands[list(body.arguments).index(number)]
    if len(owner.operands) != 2 or ir.RankedTensorType(source.type).rank != 0:
        return None
    with ir.InsertionPoint(owner), owner.location:
        return tensor.extract(source, [])


def _is_quick(generic: ir.Operation) -> bool:
    """Whether an array is computed from nothing, as quickly as it would be read."""
    operations = [operation.operation.name for operation in generic.regions[0].blocks[0].operations]
    return (
        len(generic.operands) == 1
        and len(operations) <= _MOST_OPERATIONS
        and _QUICK.issuperset(operations)
    )


def _repeat_for_uses(generic: ir.Operation) -> None:
    """Give each loop that reads the array a copy, which it is fused with."""
    uses = [(use.owner.operation, use.operand_number) for use in generic.results[0].uses]
    for user, number in uses:
        if user.name != "linalg.generic" or not _is_elementwise(user):
            continue
        if number < len(user.operands) - 1:
            user.operands[number] = generic.clone(ir.InsertionPoint(user)).results[0]
