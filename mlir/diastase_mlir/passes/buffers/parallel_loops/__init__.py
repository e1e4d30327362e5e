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

Loops that call functions stay: a host callback, or an error, belongs to the calling thread.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.buffers.parallel_loops.choose import choose
from diastase_mlir.passes.buffers.parallel_loops.outline import Outliner

__all__ = ["parallel_loops"]

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
        outliner = Outliner(module)
        for cut in cuts:
            outliner.outline(cut)
        outliner.finish()
