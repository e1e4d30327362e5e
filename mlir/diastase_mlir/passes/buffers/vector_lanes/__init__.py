"""Loops that each element has for itself run for some elements at once, in the lanes of vectors.

    linalg.generic ins(%a) outs(%b) {             scf.for %base = 0 to %n step 16 {
      %r = scf.while (%x = %in) {                   %in = the elements from %base, as vector<16xf64>
        scf.condition(%on) %x                       %r = scf.while (%x = %in) {
      } do { … scf.yield %y }               ->        scf.condition(any(%on)) %x, %on, %x
      linalg.yield %r                               } do { … scf.yield select(%on, %y, %x) }
    }                                               %r into the elements from %base }

Lanes whose own condition is false keep their values until the last one is done. What is the same
in all lanes (counters, sizes) stays a number: `varying` says which. The last lanes of a row
that does not fill a vector repeat its last element, and are not written.

In: operations on memory, made by `unbatch_loops` and perhaps cut by `parallel_loops`. What has an
operation that no vector has (complex numbers, say) stays a loop of single elements.

- `varying`: which values differ from lane to lane
- `operations`: the operations of an element, in lanes; `vectors` they are made of
- `elements`: the loops over all elements, and their memory
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.buffers.vector_lanes.elements import Lanes
from diastase_mlir.passes.operations import (
    Signatures,
    declare_pure,
    maps_of,
    operations_in,
    operations_named,
    parallel_loops,
)

_CONTROL = frozenset({
    "scf.while", "scf.for", "scf.if", "scf.condition", "scf.yield", "linalg.yield", "linalg.index",
    "memref.load", "llvm.load", "func.call",
})  # fmt: skip


def vector_lanes(module: ir.Module) -> None:
    """Replace the operations whose elements have loops."""
    signatures: Signatures = {}
    for generic in operations_named(module.operation, "linalg.generic"):
        if _has_loop(generic) and _is_possible(generic):
            with ir.InsertionPoint(generic), generic.location:
                done = Lanes(generic, signatures).emit()
            if done:
                generic.erase()
    declare_pure(module, signatures)


def _has_loop(generic: Any) -> bool:
    return bool(operations_named(generic.operation, "scf.while", "scf.for"))


def _is_possible(generic: Any) -> bool:
    """Whether all is known for vectors."""
    if not all(parallel_loops(generic)):
        return False
    if not all(own.is_projected_permutation for own in maps_of(generic)):
        return False
    if not all(_has_vectors(own.type) for own in generic.regions[0].blocks[0].arguments):
        return False
    inner = [own for own in operations_in(generic) if own != generic]
    for operation in inner:
        dialect = operation.name.partition(".")[0]
        if dialect not in ("arith", "math") and operation.name not in _CONTROL:
            return False
        if not all(_has_vectors(value.type) for value in operation.results):
            return False
    return True


def _has_vectors(kind: Any) -> bool:
    return isinstance(kind, ir.F32Type | ir.F64Type | ir.IntegerType | ir.IndexType)
