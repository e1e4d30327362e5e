"""Run large loops over arrays on the thread pool; where loops are still `linalg` operations.

In: operations on memory, in the order in which their loops are to run. Out: those that may be
large, as functions that run a part of them, and calls of the pool:

    linalg.generic {iterator_types = ["parallel"]} ins(%a : memref<?xf64>) outs(%b : memref<?xf64>)
    ->
    llvm.store %arrays, %memory        the descriptors of %a and %b, and what else the loop uses
    func.call @parallel_for(@diastase_loop_0, %memory, %count, %grain)

    func.func private @diastase_loop_0(%memory: !llvm.ptr, %first: i64, %last: i64, %worker: i64)
      linalg.generic on memref.subview %a[%first] [%last - %first] [1] and the same of %b

The pool runs what is not worth dividing by itself, in one call (`grain` says how much is). What is
known to be small now stays as it is. A loop over what is combined (`x.sum()`) is divided into
parts that depend on the sizes alone, each with a result of its own; these are combined in order,
so no result depends on the number of threads.

Two functions stand for a loop. The pool calls the first, which takes the values from memory; the
second runs the part, with the addresses of the arrays as arguments (see `context`). LLVM is told to
inline it at once: it would do so after its passes over it, and then run them over both.

Loops that call functions stay: a host callback, or an error, belongs to the calling thread.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from diastase_mlir.bindings import arith, ir
from diastase_mlir.emit.loops import append_block
from diastase_mlir.emit.operations import create, index_constant, index_type
from diastase_mlir.passes.buffers.parallel_loops.choose import (
    CHUNK_WORK,
    LEAST_ROWS,
    Cut,
    choose,
    is_poll,
)
from diastase_mlir.passes.buffers.parallel_loops.context import (
    Context,
    address_of_function,
    are_apart,
    llvm_type,
)
from diastase_mlir.passes.buffers.parallel_loops.slices import (
    combine,
    emit_part,
    loop_size,
    part_length,
    parts_of,
    result_of,
    used_values,
)
from diastase_mlir.passes.memory import StackSpace, pointer_type, word_type
from diastase_mlir.passes.operations import (
    call,
    declare,
    function_around,
    new_function,
    operations_in,
)
from diastase_runtime.abi import import_symbol

LEAST_OF_A_ROW = 64
"""Iterations of an inner loop that are handed out at least: some cache lines of numbers."""
LEAST_OF_ROWS = 512
"""The same where rows are combined: pieces of many rows, each to be fetched from afar."""
ROUND = 64
"""Long chunks are so many times a number, so that they begin where vectors do."""

_NAMES = ("linalg.generic", "linalg.fill", "linalg.copy")


def parallel_loops(module: ir.Module) -> None:
    """Outline the operations that may be large, and call the pool for them."""
    found: list[ir.Operation] = []

    def collect(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in _NAMES:
            found.append(operation)
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect, ir.WalkOrder.PRE_ORDER)
    cuts = [cut for operation in found if (cut := choose(operation)) is not None]
    if cuts:
        outliner = _Outliner(module)
        for cut in cuts:
            outliner.outline(cut)
        outliner.finish()


class _Outliner:
    """Outlines the operations of one module."""

    def __init__(self, module: ir.Module):
        self._module = module
        self._memory: dict[ir.Operation, StackSpace] = {}
        self._count, self._polls = 0, False
        self._pool = import_symbol("threads", "parallel_for")
        self._polling = import_symbol("threads", "run_job")
        self._body_type = ir.FunctionType.get([pointer_type(), *[word_type()] * 3], [])

    def outline(self, cut: Cut) -> None:
        """Replace the operation of a cut by a call of the pool."""
        captured = used_values(cut.operation)
        if any(llvm_type(value.type) is None for value in captured):
            return
        with ir.InsertionPoint(cut.operation), cut.operation.location:
            if cut.combines is None:
                written = [operand.array for operand in cut.operands[-cut.written :] if operand]
                self._call(cut, Context(captured), written, loop_size(cut, cut.loop), _grain(cut))
            else:
                self._combine(cut, captured)
        cut.operation.erase()

    def _combine(self, cut: Cut, captured: Sequence[ir.Value]) -> None:
        """Results for all parts, combined with the result."""
        result, size = result_of(cut), loop_size(cut, cut.loop)
        length = part_length(size, _grain(cut))
        count = arith.ceildivui(size, length)
        parts = parts_of(cut)
        shared = [*(value for value in captured if value != result), parts, length, size]
        self._call(cut, Context(shared), [parts], count, index_constant(1))
        combine(cut, parts, count)
        create("memref.dealloc", [], [parts])

    def finish(self) -> None:
        """Declare the pool's function, unless large products have done it."""
        if not self._count:
            return
        types = [pointer_type(), pointer_type(), word_type(), word_type()]
        if self._pool not in ir.SymbolTable(self._module.operation):
            declare(self._module, {self._pool: ir.FunctionType.get(types, [])})
        if self._polls:
            types.append(pointer_type())
            declare(self._module, {self._polling: ir.FunctionType.get(types, [])})

    def _call(
        self,
        cut: Cut,
        context: Context,
        written: Sequence[ir.Value],
        count: ir.Value,
        grain: ir.Value,
    ) -> None:
        """Make the functions, and call the pool with the first."""
        name = self._functions(cut, context, written)
        memory = self._memory_around().reserve(context.words)
        context.store(memory)
        numbers = [arith.index_cast(word_type(), number) for number in (count, grain)]
        operands = [address_of_function(name, self._body_type), memory, *numbers]
        polls = [own for own in operations_in(cut.operation) if is_poll(own)]
        if polls:
            self._polls = True
            call(self._polling, [*operands, polls[0].operands[0]])
        else:
            call(self._pool, operands)

    def _memory_around(self) -> StackSpace:
        """The memory of the function around the insertion point."""
        point: Any = ir.InsertionPoint.current
        around = function_around(point.block.owner)
        return self._memory.setdefault(around, StackSpace(around))

    def _functions(self, cut: Cut, context: Context, written: Sequence[ir.Value]) -> str:
        """Make the two functions; gives the name of the one that the pool calls."""
        name = f"diastase_loop_{self._count}"
        self._count += 1
        arrays = sum(isinstance(value.type, ir.MemRefType) for value in context.values)
        types = [context.type, index_type(), index_type(), *[pointer_type()] * arrays]
        with ir.InsertionPoint.at_block_begin(self._module.body):
            outer = new_function(name, self._body_type)
            inner = new_function(f"{name}_part", ir.FunctionType.get(types, []))
        if are_apart(written, context.values):
            noalias = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
            own = [*[ir.DictAttr.get()] * 3, *[noalias] * arrays]
            inner.attributes["arg_attrs"] = ir.ArrayAttr.get(own)
        inner.attributes["llvm.always_inline"] = ir.UnitAttr.get()
        body = append_block(outer.regions[0], self._body_type.inputs)
        with ir.InsertionPoint(body):
            memory, *bounds, _ = body.arguments
            structure = context.load(memory)
            first, last = (arith.index_cast(index_type(), bound) for bound in bounds)
            call(f"{name}_part", [structure, first, last, *context.addresses(structure)])
            create("func.return")
        body = append_block(inner.regions[0], types)
        with ir.InsertionPoint(body):
            structure, first, last, *addresses = body.arguments
            emit_part(cut, context.values, context.unpack(structure, addresses), first, last)
            create("func.return")
        return name


def _grain(cut: Cut) -> ir.Value:
    """How many iterations make a chunk: as many as their work allows, and at least a few."""
    least = _least(cut)
    others = [size for loop, size in enumerate(cut.sizes) if loop != cut.loop]
    if min(others, default=0) >= 0:
        chunk = max(CHUNK_WORK // max(prod(others) * cut.work, 1), least)
        return index_constant(chunk - chunk % ROUND if chunk > ROUND else chunk)
    work = index_constant(cut.work)
    for loop in range(len(cut.sizes)):
        if loop != cut.loop:
            work = arith.muli(work, loop_size(cut, loop))
    chunk = arith.divui(index_constant(CHUNK_WORK), arith.maxui(work, index_constant(1)))
    return arith.maxui(chunk, index_constant(least))


def _least(cut: Cut) -> int:
    """Iterations that are handed out at least."""
    if cut.combines is not None:
        return LEAST_ROWS if len(cut.sizes) > 1 else 1
    if cut.loop == 0:
        return 1
    combines_rows = any(each and 0 not in each.axes for each in cut.operands[-cut.written :])
    return LEAST_OF_ROWS if combines_rows else LEAST_OF_A_ROW
