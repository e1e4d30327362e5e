"""Rules for the LU decomposition and its row exchanges."""

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.linear_algebra.arguments import Special, smaller
from diastase_mlir.lowering.linear_algebra.batch import Batch
from diastase_mlir.lowering.loops import Values, for_each, for_range
from diastase_mlir.lowering.operations import (
    binary,
    create,
    index_type,
    integer_type,
    scalar_constant,
    to_signless,
)
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.tensors import Size, elementwise, extract, generate, insert, sizes_of


@lowers("lu")
def lower_lu(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """Both factors in one matrix, the exchanges, and the permutation that they amount to."""
    batch = Batch(context, equation)
    rows, columns = batch.core
    matrix = batch.columns(operand)
    integer = integer_type(32)
    exchanges = batch.room(smaller(rows, columns), element=integer)
    arguments = (rows, columns, matrix, rows, exchanges, Special.INFO)
    batch.call("getrf", *arguments, unless_empty=[rows, columns])
    one = scalar_constant(integer, 1)
    pivots = elementwise(
        integer, lambda pivot: binary("arith.subi", pivot, one), batch.vector(exchanges)
    )
    return [batch.matrix(matrix), pivots, _permutation(context, pivots, rows)]


@lowers("lu_pivots_to_permutation")
def lower_lu_pivots_to_permutation(
    context: LoweringContext, equation: Equation, pivots: ir.Value
) -> list[ir.Value]:
    """The permutation of rows that a sequence of exchanges amounts to."""
    size = context.size(equation.params["permutation_size"])
    return [_permutation(context, to_signless(pivots), size)]


def _permutation(context: LoweringContext, pivots: ir.Value, rows: Size) -> ir.Value:
    *batch, exchanges = sizes_of(pivots)
    integer = integer_type(32)

    def number(position: Values) -> ir.Value:
        return create("arith.index_cast", [integer], [position[-1]]).result

    def permute(position: Values, carry: Values) -> Values:
        def exchange(row: ir.Value, inner: Values) -> Values:
            other = extract(pivots, [*position, row])
            here = [*position, row]
            there = [*position, create("arith.index_cast", [index_type()], [other]).result]
            upper, lower = extract(inner[0], here), extract(inner[0], there)
            return [insert(upper, insert(lower, inner[0], here), there)]

        return for_range(context, (0, exchanges, 1), carry, exchange)

    identity = generate([*batch, rows], integer, number)
    return for_each(context, batch, [identity], permute)[0]
