"""Rules for the LU decomposition and its row exchanges."""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import Values, for_each, for_range
from diastase_mlir.emit.operations import (
    binary,
    create,
    index_type,
    integer_type,
    scalar_constant,
)
from diastase_mlir.emit.tensors import (
    Size,
    elementwise,
    extract,
    generate,
    insert,
    sizes_of,
    smaller,
    unbox,
)
from diastase_mlir.passes.runtime.linear_algebra.arguments import Special
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch
from diastase_mlir.passes.tensors.arrays_to_loops.rules import SCOPE


def lu(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """Both factors in one matrix, the exchanges, and the permutation that they amount to."""
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
    return [batch.matrix(matrix), pivots, _permutation(pivots, rows)]


def lu_pivots_to_permutation(batch: Batch, pivots: ir.Value, *size: ir.Value) -> list[ir.Value]:
    """The permutation of rows that a sequence of exchanges amounts to."""
    rows: Size = batch.results[0].type.shape[-1]
    if size:
        rows = create("arith.index_cast", [index_type()], [unbox(size[0])]).result
    return [_permutation(pivots, rows)]


def _permutation(pivots: ir.Value, rows: Size) -> ir.Value:
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

        return for_range(SCOPE, (0, exchanges, 1), carry, exchange)

    identity = generate([*batch, rows], integer, number)
    return for_each(SCOPE, batch, [identity], permute)[0]
