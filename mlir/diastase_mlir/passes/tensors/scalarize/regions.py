"""Rules for operations that take scalars: structured control flow, and those of our dialects.

A loop that carries a tensor of rank 0 would allocate one in each iteration. So what is carried,
given or taken is a scalar, and arrays are of signless elements, in which alone later passes deal:
the operation is made anew, with the same operations in its regions.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir, load
from diastase_mlir.bindings.operations import create
from diastase_mlir.dialects import runtime
from diastase_mlir.dialects.quantum import Quantum
from diastase_mlir.passes.tensors.scalarize.conversion import Conversion, Rule
from diastase_mlir.passes.tensors.scalarize.deferred import (
    Number,
    Value,
    element_type,
    extract,
    materialised,
)

_OURS: list[Any] = [
    own
    for dialect in (Quantum, runtime.Runtime)
    for own in dialect.Operation.__subclasses__()
    if not own._ODS_REGIONS[0]
]
"""Operations of our dialects, but for those that have functions of elements, as reductions have."""

REGISTERS = frozenset(("!quantum.register", "!quantum.single_register"))

_CAST = "builtin.unrealized_conversion_cast"


def carried_type(kind: Any) -> Any:
    """The type under which values of this type are carried."""
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    element: Any = kind.element_type
    if isinstance(element, ir.IntegerType) and not element.is_signless:
        element = ir.IntegerType.get_signless(element.width)
    if kind.rank == 0:
        return element
    return kind if element == kind.element_type else ir.RankedTensorType.get(kind.shape, element)


def carried(value: Value) -> ir.Value:
    """A value as it is carried."""
    if isinstance(value, Number):
        return value.scalar
    tensor = materialised(value)
    wanted = carried_type(tensor.type)
    if wanted == tensor.type:
        return tensor
    if isinstance(wanted, ir.RankedTensorType):
        return create(_CAST, [wanted], [tensor]).result
    if element_type(tensor) != wanted:
        tensor = create(_CAST, [ir.RankedTensorType.get([], wanted)], [tensor]).result
    return extract(tensor, [])


def uncarried(value: ir.Value, kind: Any) -> Value:
    """What is carried as a value of this type."""
    if value.type == kind:
        return value
    if isinstance(value.type, ir.RankedTensorType):
        return create(_CAST, [kind], [value]).result
    number = Number(value)
    if kind.element_type == value.type:
        return number
    return create(_CAST, [kind], [number.materialise()]).result


def moved_block(
    conversion: Conversion, block: Any, region: Any, kinds: Sequence[ir.Type]
) -> tuple[Any, list[Any], Any]:
    """A block of a region with a block's operations but the last, which have yet to be converted.

    Also gives these operations, and the last one, which hands on what the block computes.
    """
    new = region.blocks.append(*kinds, arg_locs=[region.owner.location] * len(kinds))
    *operations, last = list(block.operations)
    for operation in operations:
        new.append(operation)
    return new, operations, last


def take_arguments(
    conversion: Conversion, arguments: Sequence[Any], given: Sequence[ir.Value]
) -> None:
    """Say under what values, which are carried, a block that was moved has its arguments."""
    for argument, value in zip(arguments, given, strict=True):
        conversion.define(argument, uncarried(value, argument.type))


def _with_scalars(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    """An operation some of whose operands or results may be numbers."""
    types = [result.type for result in operation.results]
    taken = [carried(value) for value in operands]
    operands[:] = taken
    kinds = [carried_type(kind) for kind in types]
    if kinds == types and not any(str(kind) in REGISTERS for kind in types):
        return None
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    regions = list(operation.regions)
    new = create(operation.name, kinds, taken, attributes, regions=len(regions))
    for own, region in zip(regions, new.regions, strict=True):
        for block in own.blocks:
            _convert_block(conversion, block, region)
    if any(str(kind) in REGISTERS for kind in types):
        _interruptible(new)
    return [uncarried(own, kind) for own, kind in zip(new.results, types, strict=True)]


def _interruptible(loop: Any) -> None:
    """Poll in each turn of a loop of the user's, and leave it where an error is recorded."""
    if loop.name == "scf.if":
        return
    load((runtime.RUNTIME,))
    body = loop.regions[len(loop.regions) - 1].blocks[0]
    with ir.InsertionPoint.at_block_begin(body):
        create("runtime.poll")
    if loop.name == "scf.while":
        block = loop.regions[0].blocks[0]
        last = block.operations[len(block.operations) - 1].operation
        with ir.InsertionPoint(last):
            last.operands[0] = unless_failed(last.operands[0])


def unless_failed(proceeds: ir.Value) -> ir.Value:
    """A condition, unless an error is recorded: the values that would end a loop may not come."""
    flag = ir.IntegerType.get_signless(1)
    fine = create("runtime.no_error", [flag]).result
    return create("arith.andi", [flag], [proceeds, fine]).result


def _of_ours(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    """An operation of our dialects: real numbers, integers and flags are scalars."""
    taken = list[ir.Value]()
    for value, own in zip(operands, operation.operands, strict=True):
        is_number = isinstance(value, Number) or conversion.kind(own.type) is not None
        taken.append(carried(value) if is_number else materialised(value))
    operands[:] = taken
    types = [result.type for result in operation.results]
    kinds = [kind if conversion.kind(kind) is None else carried_type(kind) for kind in types]
    if kinds == types:
        return None
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    new = create(operation.name, kinds, taken, attributes)
    return [uncarried(own, kind) for own, kind in zip(new.results, types, strict=True)]


def _convert_block(conversion: Conversion, block: Any, region: Any) -> None:
    arguments = list(block.arguments)
    kinds = [carried_type(argument.type) for argument in arguments]
    new, operations, last = moved_block(conversion, block, region, kinds)
    new.append(last)
    with ir.InsertionPoint.at_block_begin(new):
        take_arguments(conversion, arguments, list(new.arguments))
    conversion.operations([*operations, last])


def _terminator(_: Conversion, __: Any, operands: list[Value]) -> Sequence[Value] | None:
    """What a block hands on; the operation stays."""
    operands[:] = [carried(value) for value in operands]
    return None


RULES: dict[str, Rule] = {
    **dict.fromkeys(("scf.for", "scf.while", "scf.if"), _with_scalars),
    **dict.fromkeys((own.OPERATION_NAME for own in _OURS), _of_ours),
    **dict.fromkeys(("scf.yield", "scf.condition"), _terminator),
}
