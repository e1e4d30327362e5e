"""Rules for factorisations of matrices, and for systems of equations: Cholesky, LU, QR, `*_solve`.

In: a batch and its operands, as arrays. Out: JAX's results. Q is kept as LAPACK has it, in the form
of Householder reflectors, until it is multiplied out.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import as_tensor, filled
from diastase_mlir.emit.loops import Values, for_each, for_range
from diastase_mlir.emit.operations import (
    binary,
    compare_integers,
    create,
    integer_type,
    scalar_constant,
    select,
)
from diastase_mlir.emit.tensors import (
    Size,
    element_type,
    elementwise,
    extract,
    extract_slice,
    generate,
    insert,
    insert_slice,
    sizes_of,
    smaller,
    times,
    unbox,
)
from diastase_mlir.passes.operations import SCOPE, to_index
from diastase_mlir.passes.runtime.linear_algebra.arguments import WORKSPACE, Argument, Array, Number
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch


def cholesky(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """One triangle is the factor; the other one is left as it was, as JAX does."""
    size, _ = batch.core
    matrix = batch.columns(operand)
    letter = "L" if batch.option("lower") else "U"
    batch.call("potrf", letter, size, matrix, size, unless_empty=[size])
    return [batch.matrix(matrix, batch.failed())]


def lu(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """Both factors in one matrix, the exchanges, and the permutation that they amount to."""
    rows, columns = batch.core
    matrix = batch.columns(operand)
    integer = integer_type(32)
    exchanges = batch.room(smaller(rows, columns), element=integer)
    arguments = (rows, columns, matrix, rows, exchanges)
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
        rows = to_index(unbox(size[0]))
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
            there = [*position, to_index(other)]
            upper, lower = extract(inner[0], here), extract(inner[0], there)
            return [insert(upper, insert(lower, inner[0], here), there)]

        return for_range(SCOPE, (0, exchanges, 1), carry, exchange)

    identity = generate([*batch, rows], integer, number)
    return for_each(SCOPE, batch, [identity], permute)[0]


def geqrf(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """R above, the reflectors below the diagonal; and their factors."""
    matrix = batch.columns(operand)
    factors = _factorise(batch, matrix)
    return [batch.matrix(matrix), batch.vector(factors)]


def geqp3(batch: Batch, operand: ir.Value, pivots: ir.Value) -> list[ir.Value]:
    """The same with columns exchanged; pivots count from 1."""
    matrix, exchanges = batch.columns(operand), batch.copied(pivots)
    factors = _factorise(batch, matrix, exchanges)
    return [batch.matrix(matrix), batch.vector(exchanges), batch.vector(factors)]


def householder_product(batch: Batch, operand: ir.Value, factors: ir.Value) -> list[ir.Value]:
    """The columns of Q that reflectors stand for."""
    matrix = batch.columns(operand)
    count = sizes_of(factors)[-1]
    _multiply_out(batch, matrix, batch.core, batch.copied(factors), count)
    return [batch.matrix(matrix)]


def ormqr(
    batch: Batch, reflectors: ir.Value, factors: ir.Value, operand: ir.Value
) -> list[ir.Value]:
    """Q, or its adjoint, times a matrix, without Q."""
    rows, columns = sizes_of(operand)[-2:]
    side = "L" if batch.option("left") else "R"
    transposition = "N"
    if batch.option("transpose"):
        transposition = "C" if batch.is_complex else "T"
    count, result = sizes_of(factors)[-1], batch.columns(operand)
    arrays = (batch.columns(reflectors), batch.core[0], batch.copied(factors), result, rows)
    arguments = (side, transposition, rows, columns, count, *arrays, *WORKSPACE)
    batch.call("ormqr", *arguments, unless_empty=[rows, columns])
    return [batch.matrix(result)]


def qr(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """Q and R; with pivoting also the order of columns.

    JAX distinguishes wide and tall matrices. Here Q's columns are always the reflectors, then
    zeros, to be multiplied out: right for any sizes, also those known only at run time.
    """
    rows, columns = batch.core
    least = smaller(rows, columns)
    width = rows if batch.option("full_matrices") else least
    matrix, integer = batch.columns(operand), integer_type(32)
    zero = scalar_constant(integer, 0)
    exchanges = None
    if batch.option("pivoting"):
        exchanges = batch.stored([*batch.sizes, columns], integer, lambda _: zero)
    factors = _factorise(batch, matrix, exchanges)
    factorised = as_tensor(matrix.buffer)
    reflectors = Array(
        filled(_widened(batch, factorised, (least, width, rows))), times(width, rows)
    )
    _multiply_out(batch, reflectors, (rows, width), factors, least)
    results = [batch.matrix(reflectors), _upper(batch, factorised, width, columns)]
    if exchanges is not None:
        results.append(_from_zero(batch.vector(exchanges)))
    return results


def _factorise(batch: Batch, matrix: Array, exchanges: Array | None = None) -> Array:
    """Turn a matrix into R and reflectors, in place; the factors of the reflectors."""
    rows, columns = batch.core
    factors = batch.room(smaller(rows, columns))
    name, pivots, more = "geqrf", [], []
    if exchanges is not None:
        name, pivots = "geqp3", [exchanges]
        more = [batch.scratch(times(2, columns), batch.real)] if batch.is_complex else []
    arguments: tuple[Argument, ...] = (rows, columns, matrix, rows, *pivots, factors)
    arguments = (*arguments, *WORKSPACE, *more)
    batch.call(name, *arguments, unless_empty=[rows, columns])
    return factors


def _multiply_out(
    batch: Batch, matrix: Array, sizes: tuple[Size, Size] | list[Size], factors: Array, count: Size
) -> None:
    """Turn reflectors into columns of Q, in place."""
    rows, columns = sizes
    arguments = (rows, columns, count, matrix, rows, factors, *WORKSPACE)
    batch.call("orgqr", *arguments, unless_empty=[rows, columns])


def _widened(batch: Batch, stored: ir.Value, sizes: tuple[Size, Size, Size]) -> ir.Value:
    """The first columns of a matrix (stored by columns), then columns of zeros."""
    count, width, rows = sizes
    element = element_type(stored)
    zeros = generate([*batch.sizes, width, rows], element, lambda _: scalar_constant(element, 0))
    rank = len(batch.sizes) + 2
    start, step, part = [0] * rank, [1] * rank, [*batch.sizes, count, rows]
    columns = extract_slice(stored, start, part, step)
    return insert_slice(columns, zeros, start, part, step)


def _upper(batch: Batch, stored: ir.Value, rows: Size, columns: Size) -> ir.Value:
    """The upper triangle of the first rows of a matrix (stored by columns)."""
    element = element_type(stored)

    def at(position: list[ir.Value]) -> ir.Value:
        *leading, row, column = position
        value = extract(stored, [*leading, column, row])
        return select(compare_integers("ule", row, column), value, scalar_constant(element, 0))

    return generate([*batch.sizes, rows, columns], element, at)


def _from_zero(pivots: ir.Value) -> ir.Value:
    """Positions from 0 instead of 1; where no routine was called, they are 0 and stay so."""
    integer = element_type(pivots)
    one = scalar_constant(integer, 1)

    def lowered(pivot: ir.Value) -> ir.Value:
        return binary("arith.subi", binary("arith.maxsi", pivot, one), one)

    return elementwise(integer, lowered, pivots)


_WAYS = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}
"""BLAS's letters, by StableHLO's words."""


def triangular_solve(batch: Batch, matrix: ir.Value, right_side: ir.Value) -> list[ir.Value]:
    """`op(a) x = b` or `x op(a) = b`; a singular matrix gives infinities and NaN, no failure."""
    size, _ = batch.core
    (way,) = (way for way in _WAYS if f" {way}>" in batch.option("transpose_a"))
    rows, columns = sizes_of(right_side)[-2:]
    solution = batch.columns(right_side)
    letters = (
        "L" if batch.option("left_side") else "R",
        "L" if batch.option("lower") else "U",
        _WAYS[way],
        "U" if batch.option("unit_diagonal") else "N",
    )
    arguments = (*letters, rows, columns, Number(1), batch.columns(matrix), size, solution, rows)
    batch.call("trsm", *arguments, unless_empty=[rows, columns], library="blas")
    return [batch.matrix(solution)]


def tridiagonal_solve(batch: Batch, *operands: ir.Value) -> list[ir.Value]:
    """Gaussian elimination with exchanges."""
    below, diagonal, above, right_side = operands
    size, columns = sizes_of(right_side)[-2:]
    # The first entry below the diagonal, and the last one above, stand outside of the matrix.
    diagonals = (batch.copied(below).shifted(1), batch.copied(diagonal), batch.copied(above))
    solution = batch.columns(right_side)
    arguments = (size, columns, *diagonals, solution, size)
    batch.call("gtsv", *arguments, unless_empty=[size, columns])
    return [batch.matrix(solution, batch.failed())]
