"""Rules for systems of equations: triangular ones, and `custom_linear_solve`."""

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.linear_algebra.arguments import Number
from diastase_mlir.lowering.linear_algebra.batch import Batch
from diastase_mlir.lowering.loops import Values, region_of, split
from diastase_mlir.lowering.operations import create, to_signless
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.tensors import elementwise, sizes_of


@lowers("custom_linear_solve")
def lower_custom_linear_solve(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> Values:
    """Its `solve` function; the others serve differentiation only."""
    lengths, functions = equation.params["const_lengths"], equation.params["jaxprs"]
    counts = (lengths.matvec, lengths.vecmat, lengths.solve, lengths.transpose_solve)
    _, _, constants, _, right_sides = split(operands, *counts)
    return region_of(context, functions.solve)(*constants, *right_sides)


@lowers("triangular_solve")
def lower_triangular_solve(
    context: LoweringContext, equation: Equation, matrix: ir.Value, right_side: ir.Value
) -> list[ir.Value]:
    """`op(a) x = b` or `x op(a) = b`; a singular matrix gives infinities and NaN, no failure."""
    params = equation.params
    batch = Batch(context, equation)
    size, _ = batch.core
    if params["conjugate_a"] and not params["transpose_a"] and batch.is_complex:
        matrix = elementwise(batch.element, _conjugate, to_signless(matrix))
    transposition = "N"
    if params["transpose_a"]:
        transposition = "C" if params["conjugate_a"] else "T"
    rows, columns = sizes_of(right_side)[-2:]
    solution = batch.columns(right_side)
    letters = (
        "L" if params["left_side"] else "R",
        "L" if params["lower"] else "U",
        transposition,
        "U" if params["unit_diagonal"] else "N",
    )
    arguments = (*letters, rows, columns, Number(1), batch.columns(matrix), size, solution, rows)
    batch.call("trsm", *arguments, unless_empty=[rows, columns], library="blas")
    return [batch.matrix(solution)]


def _conjugate(value: ir.Value) -> ir.Value:
    return create("complex.conj", [value.type], [value]).result
