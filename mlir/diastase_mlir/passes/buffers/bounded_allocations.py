"""Make allocations whose number of bytes would overflow fail like others that are too large.

The number of bytes of an array is computed in 64 bits without any check, so an array of 2^62
floats, or of 2^32 times 2^32, would get a few bytes of memory, and be written to beyond them. The
sizes given to `memref.alloc` are therefore replaced, where they ask for more than any computer has,
by some that ask for as much without overflow, and the allocation fails
(`codegen.allocation_runtime`):

    %0 = memref.alloc(%n) : memref<?xf64>    ->    %m = arith.minui %n, %limit : index
                                                   %0 = memref.alloc(%m) : memref<?xf64>
"""

from math import prod

from diastase_mlir.bindings import arith, ir
from diastase_mlir.bindings.pass_pipeline import PassError
from diastase_mlir.passes.memory import bytes_of
from diastase_mlir.passes.operations import operations_named

MOST_BYTES = 2**62
"""More than any address space, and far from overflow."""


def bounded_allocations(module: ir.Module) -> None:
    """Bound the sizes of all allocations; raises for one of known size that is too large."""
    found = operations_named(module.operation, "memref.alloc")
    for allocation in found:
        limit = MOST_BYTES // max(1, _known_bytes(ir.MemRefType(allocation.results[0].type)))
        if limit == 0:
            reason = f"an array of more than 2^{MOST_BYTES.bit_length() - 1} bytes"
            raise PassError(reason, allocation.location)
        with ir.InsertionPoint(allocation), allocation.location:
            for position, size in enumerate(_bounded(list(allocation.operands), limit)):
                allocation.operands[position] = size


def _known_bytes(memref: ir.MemRefType) -> int:
    """Bytes of one element, times the sizes that are known."""
    sizes = [memref.get_dim_size(axis) for axis in range(memref.rank)]
    known = [size for axis, size in enumerate(sizes) if not memref.is_dynamic_dim(axis)]
    return bytes_of(memref.element_type) * prod(known)


def _bounded(sizes: list[ir.Value], limit: int) -> list[ir.Value]:
    """The sizes, if their product is below the limit, else such that it is the limit."""
    index = ir.IndexType.get()
    most = arith.constant(index, limit)
    if len(sizes) == 1:
        return [arith.minui(sizes[0], most)]
    if not sizes:
        return []
    double = ir.F64Type.get()
    # A product of numbers that may be off in the last digit, but cannot overflow.
    count = arith.constant(double, 1.0)
    for size in sizes:
        number = arith.uitofp(double, arith.index_cast(ir.IntegerType.get_signless(64), size))
        count = arith.mulf(count, number)
    too_many = arith.cmpf(arith.CmpFPredicate.OGE, count, arith.constant(double, float(limit)))
    one = arith.constant(index, 1)
    replaced = [most, *[one] * (len(sizes) - 1)]
    return [arith.select(too_many, *pair) for pair in zip(replaced, sizes, strict=True)]
