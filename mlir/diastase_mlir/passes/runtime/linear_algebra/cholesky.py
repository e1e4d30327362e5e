"""The Cholesky decomposition."""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.runtime.linear_algebra.arguments import Special
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch


def cholesky(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """One triangle is the factor; the other one is left as it was, as JAX does."""
    size, _ = batch.core
    matrix = batch.columns(operand)
    letter = "L" if batch.option("lower") else "U"
    batch.call("potrf", letter, size, matrix, size, Special.INFO, unless_empty=[size])
    return [batch.matrix(matrix, batch.failed())]
