"""Put the parts of functions back where they are called; when arrays are memory.

    func.call @name.part0(%a)              ->        the operations of the part, on %a

In: what `outline_parts` has cut, bufferized. Memory is freed, and divided among functions for LLVM,
where all that uses it is in sight.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import callee_of, name_of, operations_named
from diastase_toolchain.trip_counts import PART


def inline_parts(module: ir.Module) -> None:
    """Replace each call of a part, and remove all parts."""
    parts = {
        name: definition.operation
        for definition in module.body.operations
        if "sym_name" in definition.attributes and PART in (name := name_of(definition))
    }
    if not parts:
        return
    for call in operations_named(module.operation, "func.call"):
        part = parts.get(callee_of(call))
        if part is not None:
            _inline(call, part.regions[0].blocks[0])
    for part in parts.values():
        part.erase()


def _inline(call: ir.Operation, block: ir.Block) -> None:
    """Move what a block has before a call, which is the only one of its function."""
    for argument, operand in zip(block.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    *operations, end = block.operations
    for operation in operations:
        operation.operation.move_before(call)
    for result, value in zip(call.results, end.operands, strict=True):
        result.replace_all_uses_with(value)
    call.erase()
