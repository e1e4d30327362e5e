"""Types of the kernel language and their LLVM types.

The names stand in annotations of kernels. To a type checker they are `int`, `float` and small
classes, so that kernels are checked as ordinary Python; when the program runs they are `Type`
objects that the compiler reads.

A `Record` subclass is a C struct. As the type of a parameter, variable or pointer element it means
a *reference*: `state.qubits` loads and stores through it. A field `Annotated[ptr[f64], 16]` is an
array of 16 numbers inside the record; reading the field gives its address. `code` is the address
of a function.

The types of amplitudes depend on the *precision* for which kernels are compiled (`in_precision`):
`stored` is a number in memory, which is an `f64` wherever it is computed with; `vector` is a
vector of 64 bytes of them, `wide` has as many lanes of `f64`, for sums, and `lane_set` a truth
value for each lane; `pair` is a vector of two, a complex number.
"""

import functools
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeVar, get_args, get_origin

from llvmlite import ir

_IS_SINGLE = ContextVar("_IS_SINGLE", default=False)


@contextmanager
def in_precision(single: bool) -> Generator[None]:
    """Compile kernels for amplitudes of single or double precision in here."""
    token = _IS_SINGLE.set(single)
    try:
        yield
    finally:
        _IS_SINGLE.reset(token)


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
        return self is F64 or self.is_vector

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector of numbers."""
        return self in (V8, VECTOR, WIDE, PAIR)

    @property
    def lanes(self) -> int:
        """How many numbers a vector has."""
        llvm: Any = self.llvm
        return llvm.count


class PreciseType(Type):
    """A type that depends on the precision of amplitudes."""

    def __init__(self, name: str, double: Type, single: Type) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_double", double)
        object.__setattr__(self, "_single", single)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def _now(self) -> Type:
        return self.__dict__["_single" if _IS_SINGLE.get() else "_double"]

    @property
    def llvm(self) -> ir.Type:  # pyright: ignore[reportIncompatibleVariableOverride]
        """LLVM's type, in the precision that is being compiled for."""
        return self._now.llvm

    @property
    def alignment(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Likewise."""
        return self._now.alignment


@dataclass(frozen=True)
class PointerType(Type):
    """Address of elements; of a record type it is also the reference to one record."""

    element: "Type | RecordLayout"


@dataclass(frozen=True)
class SharedPointer(PointerType):
    """Address of elements that the threads of a block share; see `grids`."""


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
F32 = Type("f32", ir.FloatType(), 4)
V8 = Type("v8", ir.VectorType(ir.DoubleType(), 8), 64)
V8I = Type("v8i", ir.VectorType(ir.IntType(64), 8), 64)
_V16 = Type("v16", ir.VectorType(ir.FloatType(), 16), 64)
_WIDE_16 = Type("wide16", ir.VectorType(ir.DoubleType(), 16), 64)
_LANES_8 = Type("lanes8", ir.VectorType(ir.IntType(1), 8), 8)
_LANES_16 = Type("lanes16", ir.VectorType(ir.IntType(1), 16), 8)
_DOUBLES = Type("doubles", ir.VectorType(ir.DoubleType(), 2), 16)
_FLOATS = Type("floats", ir.VectorType(ir.FloatType(), 2), 8)
STORED = PreciseType("stored", F64, F32)
VECTOR = PreciseType("vector", V8, _V16)
WIDE = PreciseType("wide", V8, _WIDE_16)
LANE_SET = PreciseType("lane_set", _LANES_8, _LANES_16)
PAIR = PreciseType("pair", _DOUBLES, _FLOATS)
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
    stored = float

    class _Numbers:
        def __add__(self, other: "Self | float") -> Self: ...
        def __sub__(self, other: "Self | float") -> Self: ...
        def __mul__(self, other: "Self | float") -> Self: ...
        def __radd__(self, other: float) -> Self: ...
        def __rsub__(self, other: float) -> Self: ...
        def __rmul__(self, other: float) -> Self: ...
        def __neg__(self) -> Self: ...
        def __truediv__(self, other: "Self | float") -> Self: ...
        def __rtruediv__(self, other: float) -> Self: ...
        def __lt__(self, other: "Self | float") -> "lane_set": ...
        def __le__(self, other: "Self | float") -> "lane_set": ...
        def __gt__(self, other: "Self | float") -> "lane_set": ...

    class v8(_Numbers):  # noqa: D101
        pass

    class vector(_Numbers):  # noqa: D101
        pass

    class wide(_Numbers):  # noqa: D101
        pass

    class pair(_Numbers):  # noqa: D101
        pass

    class v8i:  # noqa: D101
        pass

    class lane_set:  # noqa: D101
        def __and__(self, other: "lane_set") -> "lane_set": ...
        def __or__(self, other: "lane_set") -> "lane_set": ...
        def __xor__(self, other: "lane_set") -> "lane_set": ...

    class code:  # noqa: D101
        pass

    class ptr(Generic[T]):  # noqa: D101
        def __getitem__(self, index: int) -> T: ...
        def __setitem__(self, index: int, value: T) -> None: ...
        def __add__(self, offset: int) -> "ptr[T]": ...

else:
    i1, i32, i64, f64, v8, code = I1, I32, I64, F64, V8, CODE
    stored, vector, wide, lane_set = STORED, VECTOR, WIDE, LANE_SET
    v8i, pair = V8I, PAIR

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


_SIZES = {I1: 1, I32: 4, I64: 8, F64: 8, V8: 64, VECTOR: 64, CODE: 8}


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
