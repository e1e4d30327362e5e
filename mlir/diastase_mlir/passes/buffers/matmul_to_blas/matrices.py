"""What BLAS must know of a buffer: its address, the sizes and strides of its axes."""

from collections.abc import Sequence
from dataclasses import dataclass

from diastase_mlir.bindings import arith, ir
from diastase_mlir.bindings.operations import create

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
