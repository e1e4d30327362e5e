"""Small operations that `outline` emits, at the current insertion point.

What an outlined loop takes with it: the values that it uses, in a structure in memory.

Arrays travel as their descriptors. Where nothing that a loop writes can be what it reads, it gets
the addresses as `noalias` arguments, which is what LLVM needs in order to vectorise.
"""

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


_VIEWS = frozenset({
    "memref.cast", "memref.subview", "memref.reinterpret_cast", "memref.expand_shape",
    "memref.collapse_shape",
})  # fmt: skip


def llvm_type(kind: ir.Type) -> str | None:
    """The type in the structure, as `!llvm.struct` spells it; None where we know none."""
    if isinstance(kind, ir.MemRefType):
        sizes = f", array<{kind.rank} x i64>" * 2 if kind.rank else ""
        return f"struct<(ptr, ptr, i64{sizes})>"
    if isinstance(kind, ir.IndexType):
        return "i64"
    if isinstance(kind, ir.ComplexType):
        return f"struct<({kind.element_type}, {kind.element_type})>"
    if isinstance(kind, ir.IntegerType | ir.BF16Type | ir.F16Type | ir.F32Type | ir.F64Type):
        return str(kind)
    return "ptr" if str(kind) == "!llvm.ptr" else None


class Context:
    """The structure of one loop."""

    def __init__(self, values: Sequence[ir.Value]):
        self.values = values
        spellings = [llvm_type(value.type) or "" for value in values]
        self._fields = [ir.Type.parse(_as_type(spelling)) for spelling in spellings]
        self.type = ir.Type.parse(f"!llvm.struct<({', '.join(spellings)})>")

    @property
    def words(self) -> int:
        """How many 64-bit words it takes at most."""
        kinds = [value.type for value in self.values]
        return sum(3 + 2 * kind.rank if isinstance(kind, ir.MemRefType) else 2 for kind in kinds)

    def store(self, memory: ir.Value) -> None:
        """Write the values to memory."""
        structure = create("llvm.mlir.undef", [self.type], [])
        for position, (value, kind) in enumerate(zip(self.values, self._fields, strict=True)):
            structure = _insert(structure, _converted(value, kind), [position])
        create("llvm.store", [], [structure, memory], ordering=_not_atomic())

    def load(self, memory: ir.Value) -> ir.Value:
        """Read the structure from memory."""
        return create("llvm.load", [self.type], [memory], ordering=_not_atomic())

    def addresses(self, structure: ir.Value) -> list[ir.Value]:
        """The addresses of the arrays in a structure."""
        return [
            _extract(structure, [position, 1], pointer_type())
            for position, value in enumerate(self.values)
            if isinstance(value.type, ir.MemRefType)
        ]

    def unpack(self, structure: ir.Value, addresses: Sequence[ir.Value]) -> list[ir.Value]:
        """The values again, arrays at these addresses."""
        remaining = list(addresses)
        unpacked: list[ir.Value] = []
        for position, (value, kind) in enumerate(zip(self.values, self._fields, strict=True)):
            field = _extract(structure, [position], kind)
            if isinstance(value.type, ir.MemRefType):
                address = remaining.pop(0)
                for part in (0, 1):
                    field = _insert(field, address, [part])
            unpacked.append(_converted(field, value.type))
        return unpacked


class StackSpace:
    """Space on a function's stack, as large as its largest use: loops run one after another."""

    def __init__(self, function: ir.Operation):
        self._size = 1
        block = function.regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            self._length = word(1)
            self._pointer = create(
                "llvm.alloca",
                [pointer_type()],
                [self._length],
                elem_type=ir.TypeAttr.get(word_type()),
            )

    def reserve(self, size: int) -> ir.Value:
        """The memory, with room for so many words."""
        self._size = max(self._size, size)
        constant: Any = self._length.owner
        constant.attributes["value"] = ir.IntegerAttr.get(word_type(), self._size)
        return self._pointer


def are_apart(written: Sequence[ir.Value], values: Sequence[ir.Value]) -> bool:
    """Whether what is written is certainly no other of the arrays."""
    arrays = [value for value in values if isinstance(value.type, ir.MemRefType)]
    origins = [_origin(array) for array in arrays]
    for result in written:
        origin = _origin(result)
        if origin is None or not _is_allocation(origin):
            return False
        for array, other in zip(arrays, origins, strict=True):
            if array != result and (other is None or other == origin):
                return False
    return True


def _origin(array: ir.Value) -> ir.Value | None:
    """The allocation, argument of the program or constant that an array is part of, if known."""
    while True:
        owner = array.owner
        if isinstance(owner, ir.Block):
            function = owner.owner
            return array if function.operation.name == "func.func" else None
        name = owner.operation.name
        if name in _VIEWS:
            array = owner.operation.operands[0]
        elif name in ("memref.alloc", "memref.alloca", "memref.get_global"):
            return array
        else:
            return None


def _is_allocation(array: ir.Value) -> bool:
    owner = array.owner
    return not isinstance(owner, ir.Block) and owner.operation.name.startswith("memref.alloc")


def _as_type(spelling: str) -> str:
    return f"!llvm.{spelling}" if spelling.startswith(("struct", "ptr")) else spelling


def _converted(value: ir.Value, kind: ir.Type) -> ir.Value:
    return value if value.type == kind else cast(value, kind)


def _not_atomic() -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)


def _position(path: Sequence[int]) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get(list(path))


def _insert(structure: ir.Value, value: ir.Value, path: Sequence[int]) -> ir.Value:
    return create(
        "llvm.insertvalue", [structure.type], [structure, value], position=_position(path)
    )


def _extract(structure: ir.Value, path: Sequence[int], kind: ir.Type) -> ir.Value:
    return create("llvm.extractvalue", [kind], [structure], position=_position(path))
