"""Types of the kernel language and their LLVM types.

The names stand in annotations of kernels. To a type checker they are `int`, `float` and small
classes, so that kernels are checked as ordinary Python; when the program runs they are `Type`
objects that the compiler reads.

A `Record` subclass is a C struct. As the type of a parameter, variable or pointer element it means
a *reference*: `state.qubits` loads and stores through it. A field `Annotated[ptr[f64], 16]` is an
array of 16 numbers inside the record; reading the field gives its address. `code` is the address
of a function.
"""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, get_args, get_origin

from llvmlite import ir

LANES = 8
"""Numbers in a vector: fixed on every machine, LLVM splits vectors where registers are smaller."""


@dataclass(frozen=True)
class Type:
    """A type of dynamic values."""

    name: str
    llvm: ir.Type
    alignment: int

    @property
    def is_integer(self) -> bool:
        """Whether integer instructions apply (`i1` included)."""
        return isinstance(self.llvm, ir.IntType)

    @property
    def is_float(self) -> bool:
        """Whether floating-point instructions apply."""
        return self in (F64, V8)


@dataclass(frozen=True)
class PointerType(Type):
    """Address of elements; of a record type it is also the reference to one record."""

    element: "Type | RecordLayout"


@dataclass(frozen=True)
class RecordLayout:
    """Fields of a record in order: name, type, and the length of an array field (0: no array)."""

    name: str
    llvm: ir.LiteralStructType
    fields: tuple[tuple[str, Type, int], ...]
    alignment: int = 8


I1 = Type("i1", ir.IntType(1), 1)
I32 = Type("i32", ir.IntType(32), 4)
I64 = Type("i64", ir.IntType(64), 8)
F64 = Type("f64", ir.DoubleType(), 8)
V8 = Type("v8", ir.VectorType(ir.DoubleType(), LANES), 64)
M8 = Type("m8", ir.VectorType(ir.IntType(1), LANES), 8)
CODE = Type("code", ir.PointerType(), 8)


def pointer_to(element: "Type | RecordLayout") -> PointerType:
    """Type of addresses of `element`."""
    return PointerType(f"ptr[{element.name}]", ir.PointerType(), 8, element)


T = TypeVar("T")


class Record:
    """Base of C structs: a subclass declares its fields by annotations."""


if TYPE_CHECKING:
    i1 = bool
    i32 = int
    i64 = int
    f64 = float

    class v8:  # noqa: D101
        def __add__(self, other: "v8 | float") -> "v8": ...
        def __sub__(self, other: "v8 | float") -> "v8": ...
        def __mul__(self, other: "v8 | float") -> "v8": ...
        def __radd__(self, other: float) -> "v8": ...
        def __rsub__(self, other: float) -> "v8": ...
        def __rmul__(self, other: float) -> "v8": ...
        def __neg__(self) -> "v8": ...

    class m8:  # noqa: D101
        def __and__(self, other: "m8") -> "m8": ...
        def __or__(self, other: "m8") -> "m8": ...

    class code:  # noqa: D101
        pass

    class ptr(Generic[T]):  # noqa: D101
        def __getitem__(self, index: int) -> T: ...
        def __setitem__(self, index: int, value: T) -> None: ...
        def __add__(self, offset: int) -> "ptr[T]": ...

else:
    i1, i32, i64, f64, v8, m8, code = I1, I32, I64, F64, V8, M8, CODE

    class ptr:
        """`ptr[T]`: address of elements of type `T`."""

        def __class_getitem__(cls, element: Any) -> PointerType:
            """Pointer type of `element`, a type of the language or a record class."""
            if isinstance(element, type) and issubclass(element, Record):
                return pointer_to(record_layout(element))
            return pointer_to(element)


def type_of_annotation(annotation: Any) -> Type:
    """Language type that an annotation means; `TypeError` where it means none."""
    if isinstance(annotation, Type):
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return pointer_to(record_layout(annotation))
    raise TypeError(f"{annotation!r} is not a type of the kernel language")


@functools.cache
def record_layout(record: type[Record]) -> RecordLayout:
    """Layout of a record class: its annotations, in order, each naturally aligned."""
    fields = tuple(_field(name, hint) for name, hint in record.__annotations__.items())
    elements = [ir.ArrayType(kind.llvm, n) if n else kind.llvm for _, kind, n in fields]
    return RecordLayout(record.__name__, ir.LiteralStructType(elements), fields)


def _field(name: str, hint: Any) -> tuple[str, Type, int]:
    """Return a field; `Annotated[ptr[T], n]` is an array of `n` elements inside the record."""
    if get_origin(hint) is not Annotated:
        return name, type_of_annotation(hint), 0
    pointer, length = get_args(hint)
    return name, pointer.element, length


_SIZES = {I1: 1, I32: 4, I64: 8, F64: 8, V8: 64, M8: 1, CODE: 8}


def size_of(kind: Type | type[Record] | Any) -> int:
    """Bytes of one element of a type, or of a record (whose fields must all be 8-byte words)."""
    if isinstance(kind, type):
        return sum(_field_size(field) for field in record_layout(kind).fields)
    return 8 if isinstance(kind, PointerType) else _SIZES[kind]


def _field_size(field: tuple[str, Type, int]) -> int:
    name, kind, length = field
    if size_of(kind) != 8:
        raise TypeError(f"field {name!r}: records hold 8-byte fields only, so that none is padded")
    return 8 * max(length, 1)
