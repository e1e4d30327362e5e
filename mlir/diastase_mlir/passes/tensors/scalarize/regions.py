"""Rules for operations that take scalars: structured control flow, calls, and our own dialects.

A loop that carries a tensor of rank 0 would allocate one in each iteration. So what is carried,
given or taken is a scalar, and arrays are of signless elements, in which alone later passes deal:
the operation is made anew, with the same operations in its regions. The same with functions that
the module itself calls; what is called from outside keeps the types that it has.

    func.func private @f(%x: tensor<f64>, %a: tensor<3xf64>) -> tensor<f64>
    ->
    func.func private @f(%x: f64, %a: tensor<3xf64>) -> f64
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir, load
from diastase_mlir.dialects import runtime
from diastase_mlir.dialects.quantum import Quantum
from diastase_mlir.emit.operations import (
    binary,
    create,
    integer_type,
    reinterpret,
    signless_type,
    to_signless,
)
from diastase_mlir.emit.tensors import extract
from diastase_mlir.passes.operations import (
    REGISTERS,
    callee_of,
    function_type,
    last_of,
    name_of,
    set_function_type,
)
from diastase_mlir.passes.tensors.scalarize.conversion import (
    Conversion,
    Number,
    Rule,
    Value,
    materialised,
)

_OURS: list[Any] = [
    own
    for dialect in (Quantum, runtime.Runtime)
    for own in dialect.Operation.__subclasses__()
    if not own._ODS_REGIONS[0]
]
"""Operations of our dialects, but for those that have functions of elements, as reductions have."""


def carried_type(kind: Any) -> Any:
    """The type under which values of this type are carried."""
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    return signless_type(kind.element_type) if kind.rank == 0 else signless_type(kind)


def carried(value: Value) -> ir.Value:
    """A value as it is carried."""
    if isinstance(value, Number):
        return value.scalar
    tensor = to_signless(materialised(value))
    is_number = isinstance(tensor.type, ir.RankedTensorType) and tensor.type.rank == 0
    return extract(tensor, []) if is_number else tensor


def uncarried(value: ir.Value, kind: Any) -> Value:
    """What is carried as a value of this type."""
    if value.type == kind or isinstance(value.type, ir.RankedTensorType):
        return reinterpret(value, kind)
    number = Number(value)
    return number if kind.element_type == value.type else reinterpret(number.materialise(), kind)


def made_anew(
    operation: Any, kinds: Sequence[ir.Type], operands: Sequence[ir.Value], regions: int = 0
) -> tuple[Any, list[Value]]:
    """An operation with other operands and types of results; and what its results are."""
    attributes = dict(operation.attributes.items())
    new = create(operation.name, kinds, operands, attributes, regions)
    pairs = zip(new.results, operation.results, strict=True)
    return new, [uncarried(own, result.type) for own, result in pairs]


def moved_block(block: Any, region: Any, kinds: Sequence[ir.Type]) -> tuple[Any, list[Any], Any]:
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


def converted_block(conversion: Conversion, block: Any, region: Any) -> tuple[Any, Any]:
    """A block moved into a region and converted, and its last operation, which is yet to be."""
    arguments = list(block.arguments)
    kinds = [carried_type(argument.type) for argument in arguments]
    new, operations, last = moved_block(block, region, kinds)
    with ir.InsertionPoint.at_block_begin(new):
        take_arguments(conversion, arguments, list(new.arguments))
    conversion.operations(operations)
    return new, last


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
    regions = list(operation.regions)
    new, results = made_anew(operation, kinds, taken, len(regions))
    for own, region in zip(regions, new.regions, strict=True):
        for block in own.blocks:
            moved, last = converted_block(conversion, block, region)
            moved.append(last)
            conversion.operations([last])
    if any(str(kind) in REGISTERS for kind in types):
        _interruptible(new)
    return results


def _interruptible(loop: Any) -> None:
    """Poll in each turn of a loop of the user's, and leave it where an error is recorded."""
    if loop.name == "scf.if":
        return
    load((runtime.RUNTIME,))
    body = loop.regions[len(loop.regions) - 1].blocks[0]
    with ir.InsertionPoint.at_block_begin(body):
        create("runtime.poll")
    if loop.name == "scf.while":
        last = last_of(loop.regions[0].blocks[0])
        with ir.InsertionPoint(last):
            last.operands[0] = unless_failed(last.operands[0])


def unless_failed(proceeds: ir.Value) -> ir.Value:
    """A condition, unless an error is recorded: the values that would end a loop may not come."""
    fine = create("runtime.no_error", [integer_type(1)]).result
    return binary("arith.andi", proceeds, fine)


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
    return made_anew(operation, kinds, taken)[1]


def _terminator(_: Conversion, __: Any, operands: list[Value]) -> Sequence[Value] | None:
    """What a block hands on; the operation stays."""
    operands[:] = [carried(value) for value in operands]
    return None


# --- functions of the module that others call ----------------------------------------------------


def inner_functions(module: ir.Module) -> frozenset[str]:
    """The names of the functions that only the module itself calls."""
    return frozenset(
        name_of(operation)
        for operation in (view.operation for view in module.body.operations)
        if operation.name == "func.func" and is_inner(operation)
    )


def is_inner(function: Any) -> bool:
    """Whether a function has a body that only the module itself calls."""
    attributes = function.attributes
    if "sym_visibility" not in attributes or not len(function.regions[0].blocks):
        return False
    return ir.StringAttr(attributes["sym_visibility"]).value == "private"


def take_scalars(conversion: Conversion, function: Any) -> None:
    """Convert a function that only the module itself calls, and say so in its type."""
    block, *others = function.regions[0].blocks
    kind = function_type(function)
    operations, arguments = list(block.operations), list(block.arguments)
    with function.location:
        for argument in arguments:
            block.add_argument(carried_type(argument.type), argument.location)
        with ir.InsertionPoint.at_block_begin(block):
            take_arguments(conversion, arguments, list(block.arguments)[len(arguments) :])
        conversion.operations(operations)
        for other in others:
            conversion.block(other)
        conversion.erase()
        for _ in arguments:
            block.erase_argument(0)
        taken, given = ([*map(carried_type, types)] for types in (kind.inputs, kind.results))
        set_function_type(function, taken, given)


def _call(conversion: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    if callee_of(operation) not in conversion.inner_functions:
        return None
    kinds = [carried_type(result.type) for result in operation.results]
    return made_anew(operation, kinds, [carried(value) for value in operands])[1]


def _return(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    if is_inner(operation.parent.operation):
        operands[:] = [carried(value) for value in operands]
    return None


RULES: dict[str, Rule] = {
    **dict.fromkeys(("scf.for", "scf.while", "scf.if"), _with_scalars),
    **dict.fromkeys((own.OPERATION_NAME for own in _OURS), _of_ours),
    **dict.fromkeys(("scf.yield", "scf.condition"), _terminator),
    "func.call": _call,
    "func.return": _return,
}
