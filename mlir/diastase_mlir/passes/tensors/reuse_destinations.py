"""Write where an operand was that nobody reads again; in loops above all. Before bufferization.

    %1 = tensor.empty() : tensor<9xf64>
    %2 = linalg.generic ins(%0 : tensor<9xf64>) outs(%1 : tensor<9xf64>)      // last use of %0
    ->
    %2 = linalg.generic ins(%0 : tensor<9xf64>) outs(%0 : tensor<9xf64>)

A proposal, not a decision: bufferization follows it only where nothing else sees the difference,
and otherwise allocates as before, without a copy, as the old contents of a result are not read.
A loop that carries an array so updates it in place. Where that cannot be, and the result is what
the loop carries on, the array of undefined contents moves into the loop: defined outside of it, it
would be the same memory in each iteration, and be copied to new memory in each.

Only the loops over all elements that read an operand and write a result at the same place are
concerned: others may read an element after it was overwritten. So may a loop whose body reads parts
of the operand, which bufferization would copy, each of them, to write over it. Nor is a part of an
array proposed: where the rest is still needed, bufferization copies the part instead of allocating.

What is only copied to a buffer that was made for it (`emit.buffers.filled`) is written there.
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.operations import operations_named, parallel_loops


def reuse_destinations(module: ir.Module) -> None:
    """Propose operands as destinations, and move arrays that are carried on into their loops."""
    found = operations_named(module.operation, "linalg.generic")
    for generic in found:
        _propose(generic)


def _propose(generic: ir.Operation) -> None:
    """Give each result of one operation a destination."""
    first = len(generic.operands) - len(generic.results)
    for number in range(first, len(generic.operands)):
        if not _is_undefined(generic.operands[number]):
            continue
        result = generic.results[number - first]
        if (buffer := _buffer_for(result)) is not None:
            _write_into(buffer, generic, number)
            continue
        carried_on = _is_carried_on(result)
        operand = _overwritable(generic, first, number, of_loop=carried_on)
        if operand is not None:
            generic.operands[number] = operand
        elif carried_on:
            empty = generic.operands[number].owner
            clone = empty.clone(ir.InsertionPoint(generic))
            generic.operands[number] = clone.results[0]


def _overwritable(
    generic: ir.Operation, inputs: int, number: int, *, of_loop: bool
) -> ir.Value | None:
    """An input that a result may be written over; of what a loop carries on, only such ones."""
    arguments = generic.regions[0].blocks[0].arguments
    if not all(parallel_loops(generic)) or list(arguments[number].uses):
        return None
    maps = list(ir.ArrayAttr(generic.attributes["indexing_maps"]))
    for operand, operand_map in list(zip(generic.operands, maps, strict=True))[:inputs]:
        fits = operand.type == generic.operands[number].type and operand_map == maps[number]
        if of_loop and not isinstance(operand.owner, ir.Block):
            continue
        if not fits or _is_part(operand):
            continue
        if _is_last_use(operand, generic) and not _reads_parts(generic, operand):
            return operand
    return None


def _buffer_for(result: ir.Value) -> ir.Operation | None:
    """The allocation of a buffer that a result is copied to, first of all, and not used besides."""
    uses = [use.owner.operation for use in result.uses]
    if len(uses) != 1 or uses[0].name != "bufferization.materialize_in_destination":
        return None
    (copy,) = uses
    allocation: Any = copy.operands[1].owner
    if isinstance(allocation, ir.Block) or allocation.name != "memref.alloc":
        return None
    users = [use.owner for use in allocation.results[0].uses if use.owner.operation != copy]
    is_first = not any(_is_before(user, copy) for user in users)
    return allocation.operation if is_first and allocation.operation.block == copy.block else None


def _write_into(buffer: ir.Operation, generic: ir.Operation, number: int) -> None:
    """Let a result be written to a buffer, whose allocation moves before the loops."""
    generic = generic.operation
    if buffer.block != generic.block:
        return
    if not buffer.is_before_in_block(generic):
        if not all(_is_there(size, generic) for size in buffer.operands):
            return
        buffer.move_before(generic)
    attributes = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
    with ir.InsertionPoint(generic), generic.location:
        kinds, operands = [generic.operands[number].type], [buffer.results[0]]
        view = create("bufferization.to_tensor", kinds, operands, attributes)
    generic.operands[number] = view.result


def _is_there(value: ir.Value, operation: ir.Operation) -> bool:
    """Whether a value is known before an operation: where it is made, or outside of its block."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.block != operation.block:
        return True
    return owner.operation.is_before_in_block(operation)


def _is_part(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name == "tensor.extract_slice"


_VIEWS = frozenset({"tensor.extract_slice", "tensor.expand_shape", "tensor.collapse_shape"})


def _reads_parts(generic: ir.Operation, array: ir.Value) -> bool:
    """Whether the body reads elements of an array, or of a part of it, at places of its own."""
    for use in array.uses:
        user = use.owner.operation
        if user.name == "tensor.extract" and _stands_in(user, generic):
            return True
        if user.name in _VIEWS and _reads_parts(generic, user.results[0]):
            return True
    return False


def _stands_in(operation: ir.Operation, outer: ir.Operation) -> bool:
    around = operation.parent
    while around is not None and around.operation != outer:
        around = around.operation.parent
    return around is not None


def _is_undefined(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name == "tensor.empty"


def _is_last_use(value: ir.Value, user: ir.Operation) -> bool:
    """Whether a value, which the user's block got or made, is used by nothing after the user."""
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    return block == user.block and all(_is_before(use.owner, user) for use in value.uses)


def _is_before(operation: ir.OpView | ir.Operation, user: ir.Operation) -> bool:
    """Whether an operation, perhaps inside of others, comes before the user, or is the user."""
    outermost = operation.operation
    while outermost.block != user.block:
        parent = outermost.parent
        if parent is None:
            return False
        outermost = parent.operation
    return outermost == user or outermost.is_before_in_block(user)


def _is_carried_on(result: ir.Value) -> bool:
    """Whether a loop carries it to its next iteration."""
    for use in result.uses:
        parent = use.owner.operation.parent
        if use.owner.operation.name == "scf.yield" and parent is not None:
            return parent.operation.name in ("scf.for", "scf.while")
    return False
