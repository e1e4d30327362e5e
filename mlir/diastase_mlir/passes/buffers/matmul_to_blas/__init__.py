"""Turn the matrix products that `arrays_to_loops` has marked into calls of BLAS; on buffers.

    linalg.fill ins(%zero) outs(%c)
    linalg.contract … {diastase.for_blas} ins(%a, %b) outs(%c)
    ->
    func.call @diastase_dgemm(…sizes, strides and addresses of %a, %b, %c…)

BLAS thinks in columns, our arrays are stored by rows: it is asked for the transposed result of the
transposed operands in reverse order, which moves nothing. Whatever is a matrix in steps (no axis
with neighbours in memory) is copied first. The fill goes where BLAS overwrites the result.

Known sizes fit BLAS's 32-bit integers, or the product stays a loop; others are compared when the
program runs, and the loops stand in the other branch.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.operations import operations_named
from diastase_mlir.emit.library_calls import MARK
from diastase_mlir.passes.buffers.matmul_to_blas.replacement import replace_product

__all__ = ["matmul_to_blas"]


def matmul_to_blas(module: ir.Module) -> None:
    """Replace all marked products, of a module that is marked itself."""
    if MARK not in module.operation.attributes:
        return
    del module.operation.attributes[MARK]
    found = [
        operation
        for operation in operations_named(module.operation, "linalg.contract")
        if MARK in operation.attributes
    ]
    for product in found:
        replace_product(module, product)
