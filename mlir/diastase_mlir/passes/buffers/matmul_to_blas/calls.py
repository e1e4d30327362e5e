"""The call for one matrix product: addresses, sizes and strides, letters and leading dimensions.

In: buffers whose axes have labels, with what their types and descriptors say. Out: a call of a
routine (`routines`). Our arrays are stored by rows. To BLAS a matrix stored by rows is its
transpose stored by columns, so `gemm` is asked for the transposed result, of the operands in
reverse order: nothing moves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from diastase_mlir.bindings import arith, ir
from diastase_mlir.emit.buffers import allocate
from diastase_mlir.emit.operations import create, index_type
from diastase_mlir.emit.tensors import Size, as_index, larger, plus, times
from diastase_mlir.passes.buffers.matmul_to_blas.routines import call_routine
from diastase_mlir.passes.memory import address_of, bytes_of, to_pointer, word, word_type

DYNAMIC: int = ir.ShapedType.get_dynamic_stride_or_offset()
LARGEST = 2**31 - 1
"""What an integer of BLAS can hold."""


def _total(*numbers: Size) -> Size:
    """A sum of numbers."""
    return reduce(plus, [number for number in numbers if number != 0] or [0])


def _largest(*numbers: Size) -> Size:
    """The maximum of numbers, one of which is known."""
    known = max(number for number in numbers if isinstance(number, int))
    return reduce(larger, [number for number in numbers if not isinstance(number, int)], known)


@dataclass(frozen=True)
class Axis:
    """One axis of a buffer: how many elements, and how far it is from one to the next."""

    size: Size
    stride: Size

    @property
    def has_neighbours(self) -> bool:
        """Whether elements along the axis are neighbours in memory, as far as is known."""
        return self.stride == 1 or self.size == 1


@dataclass(frozen=True)
class Buffer:
    """A buffer as BLAS sees it; axes by label."""

    memref: ir.Value
    offset: Size
    axes: dict[str, Axis]

    def has_neighbours(self, *labels: str | None) -> bool:
        """Whether elements along one of the axes are neighbours; a missing axis has one element."""
        return any(label is None or self.axes[label].has_neighbours for label in labels)

    def address(self, position: dict[str, ir.Value]) -> ir.Value:
        """The address (`!llvm.ptr`) of the element at a position along some of the axes."""
        own = {label: index for label, index in position.items() if label in self.axes}
        places = [times(index, self.axes[label].stride) for label, index in own.items()]
        element = ir.MemRefType(self.memref.type).element_type
        place, start = _total(self.offset, *places), address_of(self.memref)
        return to_pointer(as_index(_total(start, times(place, bytes_of(element)))))


def describe(memref: ir.Value, labels: Sequence[str]) -> Buffer:
    """Read a buffer's type, and its descriptor for what the type does not say."""
    kind = ir.MemRefType(memref.type)
    strides, offset = kind.get_strides_and_offset()
    sizes = [kind.get_dim_size(axis) for axis in range(kind.rank)]
    if all(number != DYNAMIC for number in (*strides, offset, *sizes)):
        found: list[list[Size]] = [[offset], list(sizes), list(strides)]
    else:
        found = _with_descriptor(memref, (offset, sizes, strides))
    axes = {
        label: Axis(size, stride)
        for label, size, stride in zip(labels, found[1], found[2], strict=True)
    }
    return Buffer(memref, found[0][0], axes)


def _with_descriptor(
    memref: ir.Value, known: tuple[int, Sequence[int], Sequence[int]]
) -> list[list[Size]]:
    """Offset, sizes and strides, from the descriptor where they are not known."""
    kind = ir.MemRefType(memref.type)
    offset, sizes, strides = known
    base = ir.MemRefType.get([], kind.element_type, memory_space=kind.memory_space)
    results = [base, *[index_type()] * (1 + 2 * kind.rank)]
    operation = create("memref.extract_strided_metadata", results, [memref])
    _, *values = operation.results
    numbers: list[Size] = [
        value if number == DYNAMIC else number
        for value, number in zip(values, (offset, *sizes, *strides), strict=True)
    ]
    return [numbers[:1], numbers[1 : 1 + kind.rank], numbers[1 + kind.rank :]]


def packed(buffer: Buffer) -> Buffer:
    """A copy without steps between neighbours; to be freed."""
    sizes = [axis.size for axis in buffer.axes.values()]
    copy = allocate(sizes, ir.MemRefType(buffer.memref.type).element_type)
    create("memref.copy", [], [buffer.memref, copy])
    return describe(copy, list(buffer.axes))


def _as_i64(number: Size) -> ir.Value:
    """A number as an `i64`."""
    if isinstance(number, int):
        return word(number)
    return arith.index_cast(word_type(), number)


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
    leading: Size


def numbers_of(product: Product) -> list[Size]:
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
    third = _largest(m.stride, n.size, 1)
    arguments = [
        *map(_letter, (first, second)),
        *map(_as_i64, (n.size, m.size, k.size)),
        _number(product, 1),
        right.address(position),
        _as_i64(first.leading),
        left.address(position),
        _as_i64(second.leading),
        _number(product, 0 if product.overwrites else 1),
        result.address(position),
        _as_i64(third),
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
        *map(_as_i64, sizes),
        _number(product, 1),
        matrix.address(position),
        _as_i64(form.leading),
        vector.address(position),
        _as_i64(_largest(vector.axes[product.k].stride, 1)),
        _number(product, 1),
        product.result.address(position),
        _as_i64(_largest(target.stride, 1)),
    ]
    call_routine(product.module, "gemv", product.element, arguments, _known(*sizes))


def _as_rows(rows: Axis, columns: Axis) -> _Matrix:
    """The form in which neighbours in memory are neighbours in a row."""
    if columns.has_neighbours:
        return _Matrix(False, _largest(rows.stride, columns.size, 1))
    return _Matrix(True, _largest(columns.stride, rows.size, 1))


def _known(*sizes: Size) -> list[int] | None:
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
