"""Arrays are freed after their last use, not where their block ends. After deallocation.

    %0 = memref.alloc()                        %0 = memref.alloc()
    linalg.generic … outs(%0)                  linalg.generic … outs(%0)
    linalg.generic ins(%0) outs(%1)      ->    linalg.generic ins(%0) outs(%1)
    linalg.generic ins(%1) outs(%2)            memref.dealloc %0
    memref.dealloc %0                          linalg.generic ins(%1) outs(%2)
    return                                     return

So a program needs the memory of the arrays that are alive at once, not of all that it makes, and
the next array gets memory that the processor's caches still hold.

In: what MLIR's deallocation has made, which frees at the ends of blocks. The last use is the last
of whatever may be the same memory (`separate_aliases.Aliases`). Memory stays until the end where it
is freed conditionally, where it comes from outside of the block, and where a library gets a pointer
to it that may keep it: the engine reads the angles of gates when it runs them. BLAS, LAPACK and
Fourier transforms do not.
"""

from collections.abc import Iterable
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.buffers.separate_aliases import Aliases, Callees
from diastase_mlir.passes.operations import callee_of, name_of, operations_named
from diastase_runtime.abi import ImportedLibrary, import_symbol

_POINTER = "memref.extract_aligned_pointer_as_index"
_POINTERS = frozenset(
    (_POINTER, "arith.index_cast", "arith.addi", "llvm.inttoptr", "llvm.getelementptr")
)
"""Operations that make a pointer from an array or from a pointer."""

_LIBRARIES: tuple[ImportedLibrary, ...] = ("blas", "lapack", "fourier")
_NOT_KEEPING = tuple(import_symbol(library, "") for library in _LIBRARIES)


def free_after_last_use(module: ir.Module) -> None:
    """Move the deallocations of all blocks to the places where their memory is last used."""
    blocks: dict[ir.Block, list[ir.Operation]] = {}
    for deallocation in operations_named(module.operation, "memref.dealloc"):
        blocks.setdefault(deallocation.block, []).append(deallocation)
    if not blocks:
        return
    callees, keeping = Callees(module), _keeping(module)
    for block, deallocations in blocks.items():
        _move(block, deallocations, callees, keeping)


def _move(
    block: ir.Block, deallocations: list[ir.Operation], callees: Callees, keeping: set[str]
) -> None:
    """Move what a block frees."""
    freed = {deallocation: _owner(deallocation) for deallocation in deallocations}
    aliases = Aliases(block, callees, arguments=True)
    sets: dict[ir.Value, list[ir.Value]] = {aliases.find(value): [] for value in freed.values()}
    for value in aliases.inside:
        members = sets.get(aliases.find(value))
        if members is not None:
            members.append(value)
    steps = [step.operation for step in block.operations]
    places = {step: place for place, step in enumerate(steps)}
    last_uses = {memory: _last_use(members, places, keeping) for memory, members in sets.items()}
    for deallocation, value in freed.items():
        last = last_uses[aliases.find(value)]
        if last is not None and last < len(steps) - 1:
            deallocation.move_after(steps[last])


def _owner(deallocation: ir.Operation) -> ir.Value:
    """What is freed; instead of a part of it that only stands for the allocation, the whole."""
    value = deallocation.operands[0]
    part: Any = value.owner
    if isinstance(part, ir.Block) or part.name != "memref.extract_strided_metadata":
        return value
    whole = part.operands[0]
    deallocation.operands[0] = whole
    if not any(True for result in part.results for _ in result.uses):
        part.operation.erase()
    return whole


def _last_use(
    memory: Iterable[ir.Value], places: dict[ir.Operation, int], keeping: set[str]
) -> int | None:
    """The place in the block of what uses memory last; None if nobody knows."""
    users: list[Any] = []
    values = list(memory)
    while values:
        value = values.pop()
        definition: Any = value.owner
        if not isinstance(definition, ir.Block):
            users.append(definition.operation)
        for use in value.uses:
            user: Any = use.owner.operation
            if user.name == "memref.dealloc":
                continue
            if user.name in _POINTERS:
                values += user.results
            elif _may_keep(user, value, keeping):
                return None
            users.append(user)
    found = [place for user in users if (place := _place(user, places)) is not None]
    return max(found, default=None) if len(found) == len(users) else None


def _may_keep(user: ir.Operation, value: ir.Value, keeping: set[str]) -> bool:
    """Whether memory may be used by somebody who is not seen here, and later."""
    is_array = isinstance(value.type, (ir.MemRefType, ir.UnrankedMemRefType))
    if user.name == "func.call":
        callee = callee_of(user)
        return callee in keeping if is_array else not callee.startswith(_NOT_KEEPING)
    if user.name == "llvm.store":
        return user.operands[0] == value  # and not where to
    return not is_array and user.name != "llvm.load"


def _place(operation: Any, places: dict[ir.Operation, int]) -> int | None:
    """Where in the block an operation stands, or what it is inside of, if that is in the block."""
    while (place := places.get(operation)) is None:
        parent = operation.parent
        if parent is None:
            return None
        operation = parent.operation
    return place


def _keeping(module: ir.Module) -> set[str]:
    """Names of functions that may keep a pointer to an array that they are given."""
    found: set[str] = set()
    for definition in module.body.operations:
        function = definition.operation
        if function.name == "func.func" and (
            not function.regions[0].blocks or operations_named(function, _POINTER, "func.call")
        ):
            found.add(name_of(function))
    return found
