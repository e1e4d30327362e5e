"""Rules for tridiagonal matrices: the reduction to them, and systems of equations with them."""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.tensors import sizes_of
from diastase_mlir.passes.runtime.linear_algebra.arguments import Special
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch, one_less


def tridiagonal(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """The reflectors, diagonal and off-diagonal, and the factors of the reflectors."""
    size, _ = batch.core
    matrix, length = batch.columns(operand), one_less(batch, size)
    diagonal, beside = batch.room(size, element=batch.real), batch.room(length, element=batch.real)
    factors = batch.room(length)
    letter = "L" if batch.option("lower") else "U"
    arguments = (letter, size, matrix, size, diagonal, beside, factors)
    arguments = (*arguments, Special.WORK, Special.LWORK, Special.INFO)
    batch.call("sytrd", *arguments, unless_empty=[size])
    failed = batch.failed()
    vectors = [batch.vector(array, failed) for array in (diagonal, beside, factors)]
    return [batch.matrix(matrix, failed), *vectors]


def tridiagonal_solve(batch: Batch, *operands: ir.Value) -> list[ir.Value]:
    """Gaussian elimination with exchanges."""
    below, diagonal, above, right_side = operands
    size, columns = sizes_of(right_side)[-2:]
    # The first entry below the diagonal, and the last one above, stand outside of the matrix.
    diagonals = (batch.copied(below).shifted(1), batch.copied(diagonal), batch.copied(above))
    solution = batch.columns(right_side)
    arguments = (size, columns, *diagonals, solution, size, Special.INFO)
    batch.call("gtsv", *arguments, unless_empty=[size, columns])
    return [batch.matrix(solution, batch.failed())]
