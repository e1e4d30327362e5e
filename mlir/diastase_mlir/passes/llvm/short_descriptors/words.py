"""The words of a descriptor that the type of its array does not say; and words in memory.

memref<4xf64>    allocated and aligned pointer; not the offset 0, the size 4, the stride 1
memref<?xf64>    allocated and aligned pointer, size; not the offset, the stride
"""

from collections.abc import Sequence
from dataclasses import dataclass

from diastase_mlir.bindings import arith, ir
from diastase_mlir.bindings.operations import create

_WORD = 8
"""Bytes."""


def is_array(value: ir.Value) -> bool:
    """Whether a value has a descriptor."""
    return isinstance(value.type, ir.MemRefType)


class Types:
    """What descriptors of each type are, in one module."""

    def __init__(self) -> None:
        self.pointer = ir.Type.parse("!llvm.ptr")
        self.integer = ir.IntegerType.get_signless(64)
        self._layouts: dict[ir.Type, _Layout] = {}

    def layout(self, kind: ir.Type) -> "_Layout":
        """Of an array's descriptor."""
        layout = self._layouts.get(kind)
        if layout is None:
            layout = self._layouts[kind] = _layout(ir.MemRefType(kind))
        return layout

    def parts(self, kind: ir.Type) -> list[ir.Type]:
        """What a value is handed on as."""
        if not isinstance(kind, ir.MemRefType):
            return [kind]
        return [self.pointer, self.pointer, *[self.integer] * (len(self.layout(kind).unknown) - 2)]

    def words_in(self, array: ir.Value) -> list[ir.Value]:
        """The words of an array that its type does not say."""
        layout = self.layout(array.type)
        descriptor = create("builtin.unrealized_conversion_cast", [layout.structure], [array])
        return [
            create("llvm.extractvalue", [kind], [descriptor.result], {"position": place}).result
            for place, kind in zip(layout.unknown, self.parts(array.type), strict=True)
        ]

    def template(self, kind: ir.Type) -> ir.Value:
        """The descriptor of an array, but for what is unknown of it."""
        layout = self.layout(kind)
        descriptor = create("llvm.mlir.undef", [layout.structure]).result
        for number, place in layout.known:
            operands = [descriptor, self.constant(number)]
            descriptor = _inserted(operands, place)
        return descriptor

    def array(self, kind: ir.Type, template: ir.Value, words: Sequence[ir.Value]) -> ir.Value:
        """Make an array of its unknown words."""
        descriptor = template
        for word, place in zip(words, self.layout(kind).unknown, strict=True):
            descriptor = _inserted([descriptor, word], place)
        return create("builtin.unrealized_conversion_cast", [kind], [descriptor]).result

    def constant(self, number: int) -> ir.Value:
        """A word that is known."""
        value = {"value": ir.IntegerAttr.get(self.integer, number)}
        return create("llvm.mlir.constant", [self.integer], [], value).result

    def fits_a_word(self, kind: ir.Type) -> bool:
        """Whether `load` and `store` know what a value of this type is in memory."""
        is_number = isinstance(kind, ir.IntegerType | ir.IndexType | ir.F32Type | ir.F64Type)
        return is_number or kind == self.pointer

    def load(self, kind: ir.Type, memory: ir.Value, word: int) -> ir.Value:
        """Load a value that is a word of memory."""
        place = self._at(memory, word)
        if isinstance(kind, ir.IndexType):
            return arith.index_cast(kind, create("llvm.load", [self.integer], [place]).result)
        return create("llvm.load", [kind], [place]).result

    def store(self, value: ir.Value, memory: ir.Value, word: int) -> None:
        """Store a value as a word of memory."""
        place = self._at(memory, word)
        if isinstance(value.type, ir.IndexType):
            value = arith.index_cast(self.integer, value)
        create("llvm.store", [], [value, place])

    def _at(self, memory: ir.Value, word: int) -> ir.Value:
        place = {
            "elem_type": ir.TypeAttr.get(self.integer),
            "rawConstantIndices": ir.DenseI32ArrayAttr.get([word]),
        }
        return create("llvm.getelementptr", [self.pointer], [memory], place).result


@dataclass(frozen=True)
class _Layout:
    """Where words are in a descriptor."""

    structure: ir.Type
    unknown: list[ir.Attribute]
    """The two pointers first."""
    known: list[tuple[int, ir.Attribute]]


def _layout(memref: ir.MemRefType) -> _Layout:
    rank = memref.rank
    arrays = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    strides, offset = memref.get_strides_and_offset()
    axes = [[field, axis] for field in (3, 4) for axis in range(rank)]
    places = [ir.DenseI64ArrayAttr.get(place) for place in ([0], [1], [2], *axes)]
    sizes = [
        None if memref.is_dynamic_dim(axis) else memref.get_dim_size(axis) for axis in range(rank)
    ]
    words = [
        None if memref.is_dynamic_stride_or_offset(word) else word for word in (offset, *strides)
    ]
    numbers = [words[0], *sizes, *words[1:]]
    rest = list(zip(numbers, places[2:], strict=True))
    return _Layout(
        ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>"),
        [*places[:2], *[place for number, place in rest if number is None]],
        [(number, place) for number, place in rest if number is not None],
    )


def _inserted(operands: list[ir.Value], place: ir.Attribute) -> ir.Value:
    kind = operands[0].type
    return create("llvm.insertvalue", [kind], operands, {"position": place}).result
