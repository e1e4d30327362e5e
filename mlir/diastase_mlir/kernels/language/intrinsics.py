"""What a kernel can do beyond operators: vectors, bits, memory, conversions.

Each name is declared with the signature that kernels see, and built by the function next to it
(builder and evaluated arguments in, value out). The bodies of the declarations never run.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast as typing_cast

from llvmlite import ir

from diastase_mlir.kernels.language import arithmetic
from diastase_mlir.kernels.language.arithmetic import TypeMismatch, convert
from diastase_mlir.kernels.language.types import (
    F64,
    I1,
    I64,
    LANES,
    M8,
    V8,
    PointerType,
    Record,
    Type,
    f64,
    m8,
    ptr,
    type_of_annotation,
    v8,
)
from diastase_mlir.kernels.language.values import Dynamic, Registers, Slot

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
RecordT = TypeVar("RecordT", bound=Record)

_I32 = ir.IntType(32)


class Frame:
    """The function under construction: its builder, and room for variables on its stack."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self._entry = builder.block

    def allocate(self, kind: Type, count: int = 1) -> ir.Value:
        """Room in the entry block, so that a loop does not grow the stack."""
        with self.builder.goto_block(self._entry):
            self.builder.position_at_start(self._entry)
            size = None if count == 1 else ir.Constant(I64.llvm, count)
            address = self.builder.alloca(kind.llvm, size)
            address.align = kind.alignment
            return address


@dataclass(frozen=True)
class Intrinsic:
    """A built-in operation of the language."""

    name: str
    build: Callable[..., Any]


def intrinsic(build: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare an operation: the decorated signature is for readers and type checkers."""

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        return typing_cast("Callable[P, R]", Intrinsic(function.__name__, build))

    return declare


def _static(_frame: Frame, iterable: Any) -> Any:
    return list(iterable)


def _broadcast(frame: Frame, number: Any) -> Dynamic:
    return convert(frame.builder, number, V8) if not isinstance(number, Dynamic) else (
        arithmetic.broadcast(frame.builder, number)
    )


def _shuffle(frame: Frame, vector: Dynamic, lanes: list[int]) -> Dynamic:
    mask = ir.Constant(ir.VectorType(_I32, LANES), lanes)
    return Dynamic(V8, frame.builder.shuffle_vector(vector.value, vector.value, mask))


def _lanes_match(frame: Frame, mask: Any, value: Any) -> Dynamic:
    """Lane numbers as 8-bit integers: LLVM widens the comparison as the machine likes."""
    builder = frame.builder
    narrow = ir.IntType(64)
    vector = ir.VectorType(narrow, LANES)
    undefined = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)

    def spread(number: Any) -> ir.Value:
        scalar = convert(builder, number, I64).value
        first = builder.insert_element(undefined, scalar, ir.Constant(_I32, 0))
        return builder.shuffle_vector(first, undefined, zeros)

    lanes = ir.Constant(vector, list(range(LANES)))
    matched = builder.and_(lanes, spread(mask))
    return Dynamic(M8, builder.icmp_signed("==", matched, spread(value)))


def _select(frame: Frame, condition: Any, chosen: Any, otherwise: Any) -> Any:
    if not isinstance(condition, Dynamic):
        return chosen if condition else otherwise
    kinds = [value.type for value in (chosen, otherwise) if isinstance(value, Dynamic)]
    if condition.type is M8:
        kind = V8
    else:
        kind = kinds[0] if kinds else arithmetic.natural_type(chosen)
    first, second = (convert(frame.builder, value, kind) for value in (chosen, otherwise))
    return Dynamic(kind, frame.builder.select(condition.value, first.value, second.value))


def _horizontal_sum(frame: Frame, vector: Dynamic) -> Dynamic:
    """Pairwise, so that rounding errors grow with the logarithm of the lanes."""
    builder = frame.builder
    parts = [builder.extract_element(vector.value, ir.Constant(_I32, k)) for k in range(LANES)]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [builder.fadd(parts[k], parts[k + half]) for k in range(half)]
    return Dynamic(F64, parts[0])


def _call_intrinsic(frame: Frame, name: str, kind: Type, *arguments: ir.Value) -> Dynamic:
    declared = frame.builder.module.declare_intrinsic(name, [kind.llvm])
    return Dynamic(kind, frame.builder.call(declared, arguments))


def _count_ones(frame: Frame, bits: Any) -> Dynamic:
    return _call_intrinsic(frame, "llvm.ctpop", I64, convert(frame.builder, bits, I64).value)


def _count_trailing_zeros(frame: Frame, bits: Any) -> Dynamic:
    function_type = ir.FunctionType(I64.llvm, [I64.llvm, I1.llvm])
    declared = frame.builder.module.declare_intrinsic("llvm.cttz", [I64.llvm], function_type)
    number = convert(frame.builder, bits, I64).value
    return Dynamic(I64, frame.builder.call(declared, [number, ir.Constant(I1.llvm, 0)]))


def _square_root(frame: Frame, number: Any) -> Dynamic:
    return _call_intrinsic(frame, "llvm.sqrt", F64, convert(frame.builder, number, F64).value)


def _shift_right_logical(frame: Frame, bits: Any, count: Any) -> Dynamic:
    number, amount = (convert(frame.builder, value, I64) for value in (bits, count))
    return Dynamic(I64, frame.builder.lshr(number.value, amount.value))


def _to_float(frame: Frame, number: Any) -> Dynamic:
    return Dynamic(F64, frame.builder.sitofp(convert(frame.builder, number, I64).value, F64.llvm))


def _to_integer(frame: Frame, number: Dynamic) -> Dynamic:
    if number.type is F64:
        return Dynamic(I64, frame.builder.fptosi(number.value, I64.llvm))
    if number.type is I1:
        return Dynamic(I64, frame.builder.zext(number.value, I64.llvm))
    return Dynamic(I64, frame.builder.sext(number.value, I64.llvm))


def _cast(_frame: Frame, pointer: Dynamic, kind: Any) -> Dynamic:
    if not isinstance(pointer.type, PointerType):
        raise TypeMismatch(f"cast takes a pointer, not {pointer.type.name}")
    return Dynamic(type_of_annotation(kind), pointer.value)


def _address(frame: Frame, pointer: Dynamic) -> Dynamic:
    return Dynamic(I64, frame.builder.ptrtoint(pointer.value, I64.llvm))


def _null(_frame: Frame, kind: Any) -> Dynamic:
    target = type_of_annotation(kind)
    return Dynamic(target, ir.Constant(target.llvm, None))


def _is_null(frame: Frame, pointer: Dynamic) -> Dynamic:
    zero = ir.Constant(pointer.type.llvm, None)
    return Dynamic(I1, frame.builder.icmp_unsigned("==", pointer.value, zero))


def _stack_array(frame: Frame, kind: Any, count: int) -> Dynamic:
    element = type_of_annotation(kind)
    return Dynamic(ptr[kind], frame.allocate(element, count))  # pyright: ignore


def _registers(frame: Frame, kind: Any, count: int) -> Registers:
    element = type_of_annotation(kind)
    return Registers(tuple(Slot(element, frame.allocate(element)) for _ in range(count)))


def _unaligned(frame: Frame, pointer: Dynamic, index: Any) -> ir.Value:
    step = convert(frame.builder, index, I64).value
    return frame.builder.gep(pointer.value, [step], source_etype=F64.llvm)


def _load_unaligned(frame: Frame, pointer: Dynamic, index: Any) -> Dynamic:
    address = _unaligned(frame, pointer, index)
    return Dynamic(V8, frame.builder.load(address, typ=V8.llvm, align=F64.alignment))


def _store_unaligned(frame: Frame, pointer: Dynamic, index: Any, vector: Dynamic) -> None:
    address = _unaligned(frame, pointer, index)
    frame.builder.store(vector.value, address, align=F64.alignment)


@intrinsic(_static)
def static(iterable: Iterable[T]) -> Iterable[T]:
    """In `for x in static(...)`: unroll the loop while compiling."""
    raise NotImplementedError


@intrinsic(_broadcast)
def broadcast(number: float) -> v8:
    """A vector with one number in all lanes."""
    raise NotImplementedError


@intrinsic(_shuffle)
def shuffle(vector: v8, lanes: list[int]) -> v8:
    """Lane `k` of the result is lane `lanes[k]`; `lanes` is static."""
    raise NotImplementedError


@intrinsic(_lanes_match)
def lanes_match(mask: int, value: int) -> m8:
    """For each lane number `k`: whether `k & mask == value`."""
    raise NotImplementedError


@intrinsic(_select)
def select(condition: Any, chosen: Any, otherwise: Any) -> Any:
    """One of two values without a branch, lane by lane for a mask; both are evaluated."""
    raise NotImplementedError


@intrinsic(_horizontal_sum)
def horizontal_sum(vector: v8) -> float:
    """Sum of the lanes."""
    raise NotImplementedError


@intrinsic(_count_ones)
def count_ones(bits: int) -> int:
    """Number of set bits."""
    raise NotImplementedError


@intrinsic(_count_trailing_zeros)
def count_trailing_zeros(bits: int) -> int:
    """Position of the lowest set bit, 64 where there is none."""
    raise NotImplementedError


@intrinsic(_square_root)
def square_root(number: float) -> float:
    """Square root."""
    raise NotImplementedError


@intrinsic(_shift_right_logical)
def shift_right_logical(bits: int, count: int) -> int:
    """Shift to the right, filling with zeros."""
    raise NotImplementedError


@intrinsic(_to_float)
def to_float(number: int) -> float:
    """Nearest `f64` of an integer."""
    raise NotImplementedError


@intrinsic(_to_integer)
def to_integer(number: Any) -> int:
    """`i64` of a truth value, of a narrower integer, or of an `f64` (rounded towards zero)."""
    raise NotImplementedError


@intrinsic(_cast)
def cast(pointer: Any, kind: type[T]) -> T:
    """The same address as another pointer type or record."""
    raise NotImplementedError


@intrinsic(_address)
def address(pointer: Any) -> int:
    """An address as a number."""
    raise NotImplementedError


@intrinsic(_null)
def null(kind: type[T]) -> T:
    """The null pointer of a type."""
    raise NotImplementedError


@intrinsic(_is_null)
def is_null(pointer: Any) -> bool:
    """Whether an address is null."""
    raise NotImplementedError


@intrinsic(_stack_array)
def stack_array(kind: type[T], count: int) -> "ptr[T]":
    """Room for `count` (static) elements until the function returns."""
    raise NotImplementedError


@intrinsic(_registers)
def registers(kind: type[T], count: int) -> list[T]:
    """A row of variables, indexed by static integers, that LLVM keeps in registers."""
    raise NotImplementedError


@intrinsic(_load_unaligned)
def load_unaligned(pointer: ptr[f64], index: int) -> v8:
    """Eight numbers from `pointer + index`, which need not be aligned."""
    raise NotImplementedError


@intrinsic(_store_unaligned)
def store_unaligned(pointer: ptr[f64], index: int, vector: v8) -> None:
    """Write eight numbers to `pointer + index`, which need not be aligned."""
    raise NotImplementedError
