"""Which matrix products are worth a call of BLAS.

Lowering asks to tell the user what computes an equation, `arrays_to_loops` to mark the product.
"""

from collections.abc import Sequence

from diastase_mlir.emit.bindings import ir

MARK = "diastase.for_blas"
"""Attribute of the products that become calls of BLAS, and of the module that has any."""

TINY = 64
"""Multiplications in a product of known sizes up to which loops are faster than a call."""


FEW_FEATURES = 4
"""Features of a group up to which the products of a convolution are summed in place."""


def is_for_blas(element: ir.Type, sizes: Sequence[object]) -> bool:
    """Whether BLAS has the type, and the product is not known to be tiny.

    `sizes` are those of one product of the batch; what is no number is not known.
    """
    if any(isinstance(size, int) and size == 0 for size in sizes):
        return False
    if isinstance(element, ir.ComplexType):
        return True  # a product in a loop has branches for infinities
    if not isinstance(element, (ir.F32Type, ir.F64Type)):
        return False
    count = 1
    for size in sizes:
        if not isinstance(size, int):
            return True
        count *= size
    return count > TINY
