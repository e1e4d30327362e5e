"""What BLAS must know of a buffer: its address, the sizes and strides of its axes.

The call for one matrix product: which routine, which letters, which leading dimensions.

Our arrays are stored by rows. To BLAS a matrix stored by rows is its transpose stored by columns,
so `gemm` is asked for the transposed result, of the operands in reverse order: nothing moves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from diastase_mlir.bindings import arith, ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.buffers.matmul_to_blas.routines import call_routine

DYNAMIC: int = ir.ShapedType.get_dynamic_stride_or_offset()
LARGEST = 2**31 - 1
"""What an integer of BLAS can hold."""

Number = int | ir.Value
"""A number known now, or an `index`."""


def as_index(number: Number) -> ir.Value:
    """The number as a value."""
    return arith.constant(ir.IndexType.get(), number) if isinstance(number, int) else number


def product(left: Number, right: Number) -> Number:
    """A product of numbers."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 1 or right == 1:
        return right if left == 1 else left
    return arith.muli(as_index(left), as_index(right))


def total(left: Number, right: Number) -> Number:
    """A sum of numbers."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0 or right == 0:
        return right if left == 0 else left
    return arith.addi(as_index(left), as_index(right))


def largest(*numbers: Number) -> Number:
    """The maximum of numbers."""
    known = max((number for number in numbers if isinstance(number, int)), default=0)
    unknown = [number for number in numbers if not isinstance(number, int)]
    found: Number = known
    for number in unknown:
        found = arith.maxsi(as_index(found), number)
    return found


@dataclass(frozen=True)
class Axis:
    """One axis of a buffer: how many elements, and how far it is from one to the next."""

    size: Number
    stride: Number

    @property
    def has_neighbours(self) -> bool:
        """Whether elements along the axis are neighbours in memory, as far as is known."""
        return self.stride == 1 or self.size == 1


@dataclass(frozen=True)
class Buffer:
    """A buffer as BLAS sees it; axes by label."""

    memref: ir.Value
    offset: Number
    axes: dict[str, Axis]

    def has_neighbours(self, *labels: str | None) -> bool:
        """Whether elements along one of the axes are neighbours; a missing axis has one element."""
        return any(label is None or self.axes[label].has_neighbours for label in labels)

    def address(self, position: dict[str, ir.Value]) -> ir.Value:
        """The address (`!llvm.ptr`) of the element at a position along some of the axes."""
        place = self.offset
        for label, index in position.items():
            if label in self.axes:
                place = total(place, product(index, self.axes[label].stride))
        name = "memref.extract_aligned_pointer_as_index"
        start = create(name, [ir.IndexType.get()], [self.memref]).result
        distance = product(place, _bytes_of(ir.MemRefType(self.memref.type).element_type))
        address = arith.index_cast(_integer(), as_index(total(start, distance)))
        return create("llvm.inttoptr", [ir.Type.parse("!llvm.ptr")], [address]).result


def describe(memref: ir.Value, labels: Sequence[str]) -> Buffer:
    """Read a buffer's type, and its descriptor for what the type does not say."""
    kind = ir.MemRefType(memref.type)
    strides, offset = kind.get_strides_and_offset()
    sizes = [kind.get_dim_size(axis) for axis in range(kind.rank)]
    if all(number != DYNAMIC for number in (*strides, offset, *sizes)):
        found: list[list[Number]] = [[offset], list(sizes), list(strides)]
    else:
        found = _with_descriptor(memref, (offset, sizes, strides))
    axes = {
        label: Axis(size, stride)
        for label, size, stride in zip(labels, found[1], found[2], strict=True)
    }
    return Buffer(memref, found[0][0], axes)


def _with_descriptor(
    memref: ir.Value, known: tuple[int, Sequence[int], Sequence[int]]
) -> list[list[Number]]:
    """Offset, sizes and strides, from the descriptor where they are not known."""
    kind = ir.MemRefType(memref.type)
    index, (offset, sizes, strides) = ir.IndexType.get(), known
    base = ir.MemRefType.get([], kind.element_type, memory_space=kind.memory_space)
    results = [base, *[index] * (1 + 2 * kind.rank)]
    operation = create("memref.extract_strided_metadata", results, [memref])
    _, *values = operation.results
    numbers: list[Number] = [
        value if number == DYNAMIC else number
        for value, number in zip(values, (offset, *sizes, *strides), strict=True)
    ]
    return [numbers[:1], numbers[1 : 1 + kind.rank], numbers[1 + kind.rank :]]


def packed(buffer: Buffer) -> Buffer:
    """A copy without steps between neighbours; to be freed."""
    kind, labels = ir.MemRefType(buffer.memref.type), list(buffer.axes)
    sizes = [buffer.axes[label].size for label in labels]
    plain = ir.MemRefType.get(kind.shape, kind.element_type)
    unknown = [size for size in sizes if not isinstance(size, int)]
    segments = ir.DenseI32ArrayAttr.get([len(unknown), 0])
    attributes = {"operandSegmentSizes": segments, "alignment": ir.IntegerAttr.get(_integer(), 64)}
    copy = create("memref.alloc", [plain], unknown, attributes).result
    create("memref.copy", [], [buffer.memref, copy])
    return describe(copy, labels)


def as_i64(number: Number) -> ir.Value:
    """A number as an `i64`."""
    if isinstance(number, int):
        return arith.constant(_integer(), number)
    return arith.index_cast(_integer(), number)


def _integer() -> ir.Type:
    return ir.IntegerType.get_signless(64)


def _bytes_of(element: ir.Type) -> int:
    if isinstance(element, ir.ComplexType):
        return 2 * _bytes_of(element.element_type)
    return 4 if isinstance(element, ir.F32Type) else 8


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
