"""The call for one matrix product: which routine, which letters, which leading dimensions.

Our arrays are stored by rows. To BLAS a matrix stored by rows is its transpose stored by columns,
so `gemm` is asked for the transposed result, of the operands in reverse order: nothing moves.
"""

from dataclasses import dataclass

from diastase_mlir.bindings import arith, ir
from diastase_mlir.passes.buffers.matmul_to_blas.matrices import (
    Axis,
    Buffer,
    Number,
    as_i64,
    largest,
)
from diastase_mlir.passes.buffers.matmul_to_blas.routines import call_routine

ONE = Axis(1, 1)


@dataclass(frozen=True)
class Product:
    """A batch of products `left[i, k] * right[k, j]` on buffers whose axes have labels."""

    module: ir.Module
    element: ir.Type
    left: Buffer
    right: Buffer
    result: Buffer
    batch: tuple[str, ...]
    i: str | None
    j: str | None
    k: str
    overwrites: bool = False
    """Whether the result holds nothing yet; else products are added to it."""

    @property
    def is_of_vector(self) -> bool:
        """Whether it is one of a matrix and a vector, or of two vectors."""
        return self.i is None or self.j is None


@dataclass(frozen=True)
class _Matrix:
    """A matrix as one of rows: of which form, and how far it is from one row to the next."""

    is_transposed: bool
    leading: Number


def numbers_of(product: Product) -> list[Number]:
    """All sizes and strides that a call hands to BLAS."""
    buffers = (product.left, product.right, product.result)
    own = [label for label in (product.i, product.j, product.k) if label is not None]
    axes = [buffer.axes[label] for buffer in buffers for label in own if label in buffer.axes]
    return [number for axis in axes for number in (axis.size, axis.stride)]


def call_for(product: Product, position: dict[str, ir.Value]) -> None:
    """The call for one position in the batch."""
    emit = _call_gemv if product.is_of_vector else _call_gemm
    emit(product, position)


def _call_gemm(product: Product, position: dict[str, ir.Value]) -> None:
    assert product.i is not None
    assert product.j is not None
    left, right, result = product.left, product.right, product.result
    m, n = result.axes[product.i], result.axes[product.j]
    k = left.axes[product.k]
    first = _as_rows(right.axes[product.k], right.axes[product.j])
    second = _as_rows(left.axes[product.i], k)
    third = largest(m.stride, n.size, 1)
    arguments = [
        *map(_letter, (first, second)),
        *map(as_i64, (n.size, m.size, k.size)),
        _number(product, 1),
        right.address(position),
        as_i64(first.leading),
        left.address(position),
        as_i64(second.leading),
        _number(product, 0 if product.overwrites else 1),
        result.address(position),
        as_i64(third),
    ]
    work = _known(m.size, n.size, k.size)
    call_routine(product.module, "gemm", product.element, arguments, work)


def _call_gemv(product: Product, position: dict[str, ir.Value]) -> None:
    """A vector is added to: the routine leaves it as it is where there is nothing to sum."""
    matrix, vector = product.left, product.right
    own = product.i
    if product.i is None and product.j is not None:
        matrix, vector, own = product.right, product.left, product.j
    rows = ONE if own is None else matrix.axes[own]
    columns = matrix.axes[product.k]
    form = _as_rows(rows, columns)
    sizes = (rows.size, columns.size) if form.is_transposed else (columns.size, rows.size)
    target = ONE if own is None else product.result.axes[own]
    arguments = [
        _byte("N" if form.is_transposed else "T"),
        *map(as_i64, sizes),
        _number(product, 1),
        matrix.address(position),
        as_i64(form.leading),
        vector.address(position),
        as_i64(largest(vector.axes[product.k].stride, 1)),
        _number(product, 1),
        product.result.address(position),
        as_i64(largest(target.stride, 1)),
    ]
    call_routine(product.module, "gemv", product.element, arguments, _known(*sizes))


def _as_rows(rows: Axis, columns: Axis) -> _Matrix:
    """The form in which neighbours in memory are neighbours in a row."""
    if columns.has_neighbours:
        return _Matrix(False, largest(rows.stride, columns.size, 1))
    return _Matrix(True, largest(columns.stride, rows.size, 1))


def _known(*sizes: Number) -> list[int] | None:
    known = [size for size in sizes if isinstance(size, int)]
    return known if len(known) == len(sizes) else None


def _letter(matrix: _Matrix) -> ir.Value:
    return _byte("T" if matrix.is_transposed else "N")


def _byte(letter: str) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(8), ord(letter))


def _number(product: Product, number: float) -> ir.Value:
    element = product.element
    real = element.element_type if isinstance(element, ir.ComplexType) else element
    return arith.constant(real, float(number))
