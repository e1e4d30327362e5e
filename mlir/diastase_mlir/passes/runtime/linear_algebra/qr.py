"""Rules for the QR decomposition, whole and in its parts (Householder reflectors)."""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import as_tensor, filled
from diastase_mlir.emit.operations import (
    binary,
    compare_integers,
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
    insert_slice,
    sizes_of,
    smaller,
    times,
)
from diastase_mlir.passes.runtime.linear_algebra.arguments import Argument, Array, Special
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch

_WORKSPACE = (Special.WORK, Special.LWORK)


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
    arguments = (side, transposition, rows, columns, count, *arrays, *_WORKSPACE, Special.INFO)
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
    arguments = (*arguments, *_WORKSPACE, *more, Special.INFO)
    batch.call(name, *arguments, unless_empty=[rows, columns])
    return factors


def _multiply_out(
    batch: Batch, matrix: Array, sizes: tuple[Size, Size] | list[Size], factors: Array, count: Size
) -> None:
    """Turn reflectors into columns of Q, in place."""
    rows, columns = sizes
    arguments = (rows, columns, count, matrix, rows, factors, *_WORKSPACE, Special.INFO)
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
