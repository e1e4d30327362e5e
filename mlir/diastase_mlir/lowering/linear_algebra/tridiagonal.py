"""Rules for tridiagonal matrices: the reduction to them, and systems of equations with them."""

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.linear_algebra.arguments import Special
from diastase_mlir.lowering.linear_algebra.batch import Batch, one_less
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.tensors import sizes_of


@lowers("tridiagonal")
def lower_tridiagonal(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """The reflectors, diagonal and off-diagonal, and the factors of the reflectors."""
    batch = Batch(context, equation)
    size, _ = batch.core
    matrix, length = batch.columns(operand), one_less(batch, size)
    diagonal, beside = batch.room(size, element=batch.real), batch.room(length, element=batch.real)
    factors = batch.room(length)
    letter = "L" if equation.params["lower"] else "U"
    arguments = (letter, size, matrix, size, diagonal, beside, factors)
    arguments = (*arguments, Special.WORK, Special.LWORK, Special.INFO)
    batch.call("sytrd", *arguments, unless_empty=[size])
    failed = batch.failed()
    vectors = [batch.vector(array, failed) for array in (diagonal, beside, factors)]
    return [batch.matrix(matrix, failed), *vectors]


@lowers("tridiagonal_solve")
def lower_tridiagonal_solve(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Gaussian elimination with exchanges. What perturbs singular matrices is XLA's own."""
    if equation.params.get("perturb_singular"):
        return NotImplemented
    below, diagonal, above, right_side = operands
    batch = Batch(context, equation, rank=1)
    size, columns = sizes_of(right_side)[-2:]
    # The first entry below the diagonal, and the last one above, stand outside of the matrix.
    diagonals = (batch.copied(below).shifted(1), batch.copied(diagonal), batch.copied(above))
    solution = batch.columns(right_side)
    arguments = (size, columns, *diagonals, solution, size, Special.INFO)
    batch.call("gtsv", *arguments, unless_empty=[size, columns])
    return [batch.matrix(solution, batch.failed())]
