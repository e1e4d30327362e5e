"""Small operations that `outline` emits, at the current insertion point."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from diastase_mlir.bindings import arith, ir, operations


@contextmanager
def loop(start: ir.Value, stop: ir.Value) -> Generator[ir.Value]:
    """Emit a loop around what is emitted inside; gives its counter."""
    operation = operations.create("scf.for", [], [start, stop, index(1)], regions=1)
    body = operation.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(body):
        yield body.arguments[0]
        create("scf.yield", [], [])


def create(
    name: str, results: Sequence[ir.Type], operands: Sequence[ir.Value], **attributes: Any
) -> Any:
    """An operation without regions; its result, if it has one."""
    operation = operations.create(name, results, operands, attributes)
    return operation.results[0] if results else None


def index(number: int) -> ir.Value:
    """A constant of type `index`."""
    return arith.constant(ir.IndexType.get(), number)


def word(number: int) -> ir.Value:
    """A constant of type `i64`."""
    return arith.constant(word_type(), number)


def word_type() -> ir.Type:
    """`i64`."""
    return ir.IntegerType.get_signless(64)


def pointer_type() -> ir.Type:
    """`!llvm.ptr`."""
    return ir.Type.parse("!llvm.ptr")


def cast(value: ir.Value, kind: ir.Type) -> ir.Value:
    """The same value in a type that the conversion to LLVM will find equal."""
    return create("builtin.unrealized_conversion_cast", [kind], [value])


def size_of_axis(array: ir.Value, axis: int) -> ir.Value:
    """The size of an axis, constant where it is known."""
    kind = ir.MemRefType(array.type)
    if not kind.is_dynamic_dim(axis):
        return index(kind.get_dim_size(axis))
    return create("memref.dim", [ir.IndexType.get()], [array, index(axis)])


def new_array(kind: ir.MemRefType) -> ir.Value:
    """An array of known sizes on the heap."""
    alignment = ir.IntegerAttr.get(word_type(), 64)
    segments = ir.DenseI32ArrayAttr.get([0, 0])
    return create("memref.alloc", [kind], [], alignment=alignment, operandSegmentSizes=segments)


def part_of(parts: ir.Value, number: ir.Value) -> ir.Value:
    """The array at a place of the first axis; sizes of the other axes are known."""
    kind = ir.MemRefType(parts.type)
    moving = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, _ = kind.get_strides_and_offset()
    shape = [1, *kind.shape[1:]]
    layout = ir.StridedLayoutAttr.get(moving, strides[1:])
    return create(
        "memref.subview",
        [ir.MemRefType.get(shape[1:], kind.element_type, layout)],
        [parts, number],
        static_offsets=ir.DenseI64ArrayAttr.get([moving, *[0] * (kind.rank - 1)]),
        static_sizes=ir.DenseI64ArrayAttr.get(shape),
        static_strides=ir.DenseI64ArrayAttr.get([1] * kind.rank),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, 0, 0]),
    )


def slice_of(array: ir.Value, axis: int, first: ir.Value, count: ir.Value) -> ir.Value:
    """`count` elements along an axis from `first`, all of the other axes."""
    kind = ir.MemRefType(array.type)
    dynamic = ir.ShapedType.get_dynamic_size()
    moving = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, _ = kind.get_strides_and_offset()
    shape = [dynamic if at == axis else size for at, size in enumerate(kind.shape)]
    others = [
        size_of_axis(array, at) for at in range(kind.rank) if at != axis and kind.is_dynamic_dim(at)
    ]
    before = sum(kind.is_dynamic_dim(at) for at in range(axis))
    sizes = [*others[:before], count, *others[before:]]
    layout = ir.StridedLayoutAttr.get(moving, strides)
    result = ir.MemRefType.get(shape, kind.element_type, layout, kind.memory_space)
    return create(
        "memref.subview",
        [result],
        [array, first, *sizes],
        static_offsets=ir.DenseI64ArrayAttr.get(
            [moving if at == axis else 0 for at in range(kind.rank)]
        ),
        static_sizes=ir.DenseI64ArrayAttr.get(shape),
        static_strides=ir.DenseI64ArrayAttr.get([1] * kind.rank),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, len(sizes), 0]),
    )
