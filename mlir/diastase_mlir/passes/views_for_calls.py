"""Arrays that nobody ever writes to go into each call by a view of their own; for bufferization.

    call @f(%a)              %memory = bufferization.to_buffer %a read_only
    call @f(%a)      ->      %1 = bufferization.to_tensor %memory restrict      call @f(%1)
                             %2 = bufferization.to_tensor %memory restrict      call @f(%2)

In: constants and arguments of functions, which bufferization does not write to. It compares all
uses of an array in pairs, calls among them, and there may be thousands of one circuit. A view that
is not writable is used by one call only; bufferization makes the memory itself of it.

The trap: canonicalisation folds a view to the array again, so this comes just before
bufferization.
"""

from collections import defaultdict

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import create


def views_for_calls(module: ir.Module) -> None:
    """Give the calls of a module such views, in place."""
    uses: defaultdict[ir.Value, list[tuple[ir.Operation, int]]] = defaultdict(list)

    def collect(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "func.call":
            for place, operand in enumerate(operation.operands):
                if isinstance(operand.type, ir.RankedTensorType) and _is_never_written(operand):
                    uses[operand].append((operation, place))
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    for array, calls in uses.items():
        if len(calls) > 1:
            _use_views(array, calls)


def _is_never_written(array: ir.Value) -> bool:
    """Whether an array is a constant, or an argument that bufferization may not write to."""
    owner = array.owner
    if not isinstance(owner, ir.Block):
        return owner.name == "arith.constant"
    function = owner.owner.operation
    if function.name != "func.func" or "arg_attrs" not in function.attributes:
        return False
    number = ir.BlockArgument(array).arg_number
    attributes = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[number])
    name = "bufferization.writable"
    return name in attributes and not ir.BoolAttr(attributes[name]).value


def _use_views(array: ir.Value, calls: list[tuple[ir.Operation, int]]) -> None:
    owner = array.owner
    if isinstance(owner, ir.Block):
        place, location = ir.InsertionPoint.at_block_begin(owner), owner.owner.location
    else:
        place, location = ir.InsertionPoint.after(owner.operation), owner.location
    kind = ir.RankedTensorType(array.type)
    with place, location:
        memory = ir.MemRefType.get(kind.shape, kind.element_type)
        view = {"read_only": ir.UnitAttr.get()}
        buffer = create("bufferization.to_buffer", [memory], [array], view).result
    for call, number in calls:
        with ir.InsertionPoint(call), call.location:
            apart = {"restrict": ir.UnitAttr.get()}
            call.operands[number] = create(
                "bufferization.to_tensor", [kind], [buffer], apart
            ).result
