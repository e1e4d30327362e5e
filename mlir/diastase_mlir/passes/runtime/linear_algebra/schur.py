"""Rules for the Schur decomposition and the reduction to Hessenberg form."""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import integer_type
from diastase_mlir.passes.runtime.linear_algebra.arguments import Special
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch, one_less

_WORKSPACE = (Special.WORK, Special.LWORK)


def schur(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """The (quasi-)triangular form, and the vectors if they are asked for."""
    size, _ = batch.core
    has_vectors = batch.option("compute_schur_vectors")
    matrix = batch.columns(operand)
    vectors = batch.room(size, size) if has_vectors else batch.scratch(1)
    values = [batch.scratch(size) for _ in range(1 if batch.is_complex else 2)]
    more = [batch.scratch(size, batch.real)] if batch.is_complex else []
    integer = integer_type(32)
    selected, flags = batch.scratch(1, integer), batch.scratch(size, integer)
    arguments = ("V" if has_vectors else "N", "N", Special.NULL, size, matrix, size, selected)
    arguments = (*arguments, *values, vectors, size, *_WORKSPACE, *more, flags, Special.INFO)
    batch.call("gees", *arguments, unless_empty=[size])
    failed = batch.failed()
    arrays = [matrix, vectors] if has_vectors else [matrix]
    return [batch.matrix(array, failed) for array in arrays]


def hessenberg(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """The form above, the reflectors below the first subdiagonal; and their factors."""
    size, _ = batch.core
    matrix, factors = batch.columns(operand), batch.room(one_less(batch, size))
    arguments = (size, 1, size, matrix, size, factors, *_WORKSPACE, Special.INFO)
    batch.call("gehrd", *arguments, unless_empty=[size])
    failed = batch.failed()
    return [batch.matrix(matrix, failed), batch.vector(factors, failed)]
