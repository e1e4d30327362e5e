"""Rules for the QR decomposition, whole and in its parts (Householder reflectors)."""

from diastase_mlir.errors import LoweringError
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.buffers import as_tensor, filled
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.linear_algebra.arguments import (
    Argument,
    Array,
    Special,
    smaller,
    times,
)
from diastase_mlir.lowering.linear_algebra.batch import Batch
from diastase_mlir.lowering.operations import (
    binary,
    compare_integers,
    integer_type,
    scalar_constant,
    select,
)
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.tensors import (
    Size,
    element_type,
    elementwise,
    extract,
    extract_slice,
    generate,
    insert_slice,
    sizes_of,
)

_WORKSPACE = (Special.WORK, Special.LWORK)


@lowers("geqrf")
def lower_geqrf(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """R above, the reflectors below the diagonal; and their factors."""
    batch = Batch(context, equation)
    matrix = batch.columns(operand)
    factors = _factorise(batch, matrix)
    return [batch.matrix(matrix), batch.vector(factors)]


@lowers("geqp3")
def lower_geqp3(
    context: LoweringContext, equation: Equation, operand: ir.Value, pivots: ir.Value
) -> list[ir.Value]:
    """The same with columns exchanged; pivots count from 1."""
    if equation.avals_in[1].dtype != "int32":
        raise LoweringError(primitive="geqp3", reason="pivots must be of type int32")
    batch = Batch(context, equation)
    matrix, exchanges = batch.columns(operand), batch.copied(pivots)
    factors = _factorise(batch, matrix, exchanges)
    return [batch.matrix(matrix), batch.vector(exchanges), batch.vector(factors)]


@lowers("householder_product")
def lower_householder_product(
    context: LoweringContext, equation: Equation, operand: ir.Value, factors: ir.Value
) -> list[ir.Value]:
    """The columns of Q that reflectors stand for."""
    batch = Batch(context, equation)
    matrix = batch.columns(operand)
    count = sizes_of(factors)[-1]
    _multiply_out(batch, matrix, batch.core, batch.copied(factors), count)
    return [batch.matrix(matrix)]


@lowers("ormqr")
def lower_ormqr(
    context: LoweringContext,
    equation: Equation,
    reflectors: ir.Value,
    factors: ir.Value,
    operand: ir.Value,
) -> list[ir.Value]:
    """Q, or its adjoint, times a matrix, without Q."""
    batch = Batch(context, equation)
    rows, columns = sizes_of(operand)[-2:]
    side = "L" if equation.params["left"] else "R"
    transposition = "N"
    if equation.params["transpose"]:
        transposition = "C" if batch.is_complex else "T"
    count, result = sizes_of(factors)[-1], batch.columns(operand)
    arrays = (batch.columns(reflectors), batch.core[0], batch.copied(factors), result, rows)
    arguments = (side, transposition, rows, columns, count, *arrays, *_WORKSPACE, Special.INFO)
    batch.call("ormqr", *arguments, unless_empty=[rows, columns])
    return [batch.matrix(result)]


@lowers("qr")
def lower_qr(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """Q and R; with pivoting also the order of columns.

    JAX distinguishes wide and tall matrices. Here Q's columns are always the reflectors, then
    zeros, to be multiplied out: right for any sizes, also those known only at run time.
    """
    batch, params = Batch(context, equation), equation.params
    rows, columns = batch.core
    least = smaller(rows, columns)
    width = rows if params["full_matrices"] else least
    matrix, integer = batch.columns(operand), integer_type(32)
    zero = scalar_constant(integer, 0)
    exchanges = None
    if params["pivoting"]:
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
