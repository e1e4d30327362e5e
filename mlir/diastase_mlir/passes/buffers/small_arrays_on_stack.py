"""Small arrays that live in one block only are put on the function's stack. After deallocation.

    scf.for %i … {                               %0 = memref.alloca() : memref<8xf64>
      %0 = memref.alloc() : memref<8xf64>        scf.for %i … {
      …                                    ->      …
      memref.dealloc %0                          }
    }

An allocation of a few numbers takes longer than what is done with them. One that the same block
frees is not used beyond it, by nobody; so it may be the same memory whenever the block runs, which
is never twice at once in one call of the function. It is made where the function begins: in a loop
the stack would grow.

In: structured control flow, in which all of a block runs or nothing; elements of batches and parts
that run on several threads are functions of their own, with stacks of their own. Innermost blocks
come first, until a function's share of the stack is used up.
"""

from math import prod
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import array_attribute, create
from diastase_mlir.passes.memory import bytes_of
from diastase_mlir.passes.operations import operations_named

MOST_OF_AN_ARRAY = 2**11
MOST_OF_A_FUNCTION = 2**14
"""Bytes. Threads have stacks of megabytes, and there are few calls inside of calls."""

_ON_EVERY_RUN = frozenset(("scf.for", "scf.while", "scf.if", "scf.index_switch"))
"""Control flow that runs its blocks one after the other."""


def small_arrays_on_stack(module: ir.Module) -> None:
    """Move what is small, in place."""
    found: dict[ir.Operation, list[tuple[int, Any, Any]]] = {}
    for deallocation in operations_named(module.operation, "memref.dealloc"):
        allocation = _allocation_in(deallocation)
        if allocation is None or not 0 < _bytes(allocation) <= MOST_OF_AN_ARRAY:
            continue
        function, depth = _function_around(allocation)
        if function is not None:
            found.setdefault(function, []).append((depth, allocation, deallocation))
    for function, pairs in found.items():
        _move(function, sorted(pairs, key=lambda pair: -pair[0]))


def _move(function: ir.Operation, pairs: list[tuple[int, Any, Any]]) -> None:
    """Move allocations of a function as long as there is room."""
    room = MOST_OF_A_FUNCTION
    block = function.regions[0].blocks[0]
    for _, allocation, deallocation in pairs:
        size = _bytes(allocation)
        if size > room:
            continue
        room -= size
        with ir.InsertionPoint.at_block_begin(block), allocation.location:
            memory = create("memref.alloca", [allocation.results[0].type], [], _kept(allocation))
        deallocation.erase()
        allocation.results[0].replace_all_uses_with(memory.result)
        allocation.erase()


def _kept(allocation: Any) -> dict[str, ir.Attribute]:
    """Attributes of an allocation on the stack."""
    kept = {"operandSegmentSizes": array_attribute("i32", [0, 0])}
    if "alignment" in allocation.attributes:
        kept["alignment"] = allocation.attributes["alignment"]
    return kept


def _allocation_in(deallocation: Any) -> Any:
    """The allocation that is freed, if it is in the same block and not freed otherwise."""
    memory = deallocation.operands[0]
    owner: Any = memory.owner if isinstance(memory.owner, ir.Block) else memory.owner.operation
    if isinstance(owner, ir.Block) or owner.name != "memref.alloc" or len(owner.operands):
        return None
    frees = [use for use in memory.uses if use.owner.operation.name == "memref.dealloc"]
    return owner if len(frees) == 1 and owner.block == deallocation.block else None


def _bytes(allocation: Any) -> int:
    memref = ir.MemRefType(allocation.results[0].type)
    return bytes_of(memref.element_type) * prod(memref.shape)


def _function_around(operation: Any) -> tuple[Any, int]:
    """The function around an operation, None if something else is; and how deep it stands there."""
    depth, around = 0, operation.parent.operation
    while around.name in _ON_EVERY_RUN:
        depth, around = depth + 1, around.parent.operation
    return (around if around.name == "func.func" else None), depth
