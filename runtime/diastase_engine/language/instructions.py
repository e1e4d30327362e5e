"""LLVM instructions behind the intrinsics: the frame and evaluated arguments in, a value out.

`intrinsics.py` declares what kernels see; each `<name>` here belongs to the declaration of
that name. Arguments may be static; `convert` makes them constants.
"""

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir

from diastase_engine.language import arithmetic
from diastase_engine.language.arithmetic import TypeMismatch, convert
from diastase_engine.language.functions import External, Intrinsic, Kernel
from diastase_engine.language.guards import guard
from diastase_engine.language.types import (
    F64,
    I1,
    I32,
    I64,
    LANE_SET,
    STORED,
    V8,
    VECTOR,
    WIDE,
    PointerType,
    Type,
    pointer_to,
    size_of,
    type_of_annotation,
)
from diastase_engine.language.values import Dynamic, Registers, Slot

_I32 = ir.IntType(32)


Declare = Callable[[Kernel[..., Any] | External], ir.Function]


class Frame:
    """The function under construction: its builder, room on its stack, the settings.

    Of a grid's kernel (`is_block`), `phase` is 0 outside of loops over threads, and the number of
    the loop inside of one; see `grids`.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        declare: Declare,
        settings: Mapping[str, int],
        *,
        is_block: bool = False,
    ) -> None:
        self.settings = settings
        self.is_block = is_block
        self.phase = self._phases = 0
        self.shared_bytes = 0
        # Any: llvmlite is untyped, and what is inferred for its decorated methods is wrong.
        self.builder: Any = builder
        self.declare = declare
        self._entry = self.builder.block

    @property
    def is_for_all_threads(self) -> bool:
        """Whether what is compiled now is done by the threads of a block together."""
        return self.is_block and self.phase == 0

    def begin_phase(self) -> None:
        """Go into a loop over threads."""
        self._phases += 1
        self.phase = self._phases

    def allocate(self, kind: Type, count: int = 1) -> ir.Value:
        """Room in the entry block, so that a loop does not grow the stack."""
        with self.builder.goto_block(self._entry):
            self.builder.position_at_start(self._entry)
            size = None if count == 1 else ir.Constant(I64.llvm, count)
            address = self.builder.alloca(kind.llvm, size)
            # What fills a line of the cache is in one, so that it is read as it was written, as a
            # vector perhaps.
            address.align = kind.alignment if count < 8 else max(kind.alignment, 64)
            return address


@Intrinsic
def static(_frame: Frame, iterable: Any) -> Any:
    """Unroll a `for` loop over this while compiling: everything in it is known now."""
    return list(iterable)


@Intrinsic
def broadcast(frame: Frame, number: Any) -> Dynamic:
    """A vector with one number in all lanes; constant for a static number."""
    return convert(frame.builder, number, VECTOR)


@Intrinsic
def broadcast_wide(frame: Frame, number: Any) -> Dynamic:
    """A vector of `f64` with one number in all lanes."""
    return convert(frame.builder, number, WIDE)


@Intrinsic
def lane_numbers(_frame: Frame, numbers: list[float]) -> Dynamic:
    """A vector of a static list, one number for each lane."""
    return Dynamic(VECTOR, ir.Constant(VECTOR.llvm, numbers))


@Intrinsic
def widen(frame: Frame, vector: Dynamic) -> Dynamic:
    """The numbers as `f64`."""
    return Dynamic(WIDE, _widened(frame, vector))


def _widened(frame: Frame, vector: Dynamic) -> ir.Value:
    kind = ir.VectorType(F64.llvm, vector.type.lanes)
    return arithmetic.widened(frame.builder, vector.value, kind)


@Intrinsic
def pack(frame: Frame, numbers: Any) -> Dynamic:
    """A vector of a static list of eight numbers: `insertelement` into those that are static."""
    known = [0.0 if isinstance(number, Dynamic) else float(number) for number in numbers]
    vector = ir.Constant(V8.llvm, known)
    for lane, number in enumerate(numbers):
        if isinstance(number, Dynamic):
            place = ir.Constant(_I32, lane)
            vector = frame.builder.insert_element(
                vector, convert(frame.builder, number, F64).value, place
            )
    return Dynamic(V8, vector)


@Intrinsic
def shuffle(frame: Frame, vector: Dynamic, lanes: list[int]) -> Dynamic:
    """Lane `k` of the result is lane `lanes[k]`; `lanes` is static."""
    mask = ir.Constant(ir.VectorType(_I32, vector.type.lanes), lanes)
    return Dynamic(vector.type, frame.builder.shuffle_vector(vector.value, vector.value, mask))


@Intrinsic
def shuffle_pair(frame: Frame, first: Dynamic, second: Dynamic, lanes: list[int]) -> Dynamic:
    """The same of two vectors, whose lanes are numbered one after the other."""
    mask = ir.Constant(ir.VectorType(_I32, first.type.lanes), lanes)
    return Dynamic(first.type, frame.builder.shuffle_vector(first.value, second.value, mask))


@Intrinsic
def lanes_match(frame: Frame, mask: Any, value: Any) -> Dynamic:
    """For each lane number `k` whether `k & mask == value`: one vector comparison."""
    builder = frame.builder
    wanted, bits = (
        arithmetic.splat(builder, convert(builder, number, I64), LANE_SET.lanes)
        for number in (value, mask)
    )
    numbers = list(range(LANE_SET.lanes))
    lanes = ir.Constant(ir.VectorType(I64.llvm, len(numbers)), numbers)
    return Dynamic(LANE_SET, builder.icmp_signed("==", builder.and_(lanes, bits), wanted))


@Intrinsic
def lanes_where(frame: Frame, numbers: Dynamic, index: Any) -> Dynamic:
    """For each lane whether its number, of those that begin at `numbers + index`, is not zero."""
    builder = frame.builder
    kind = ir.VectorType(I64.llvm, LANE_SET.lanes)
    address = _unaligned(frame, numbers, index)
    loaded = builder.load(address, typ=kind, align=I64.alignment)
    zeros = ir.Constant(kind, [0] * LANE_SET.lanes)
    return Dynamic(LANE_SET, builder.icmp_signed("!=", loaded, zeros))


@Intrinsic
def store_lanes(frame: Frame, numbers: Dynamic, index: Any, lanes: Dynamic) -> None:
    """Write 1 for each lane of a set and 0 for the others, to `numbers + index`."""
    kind = ir.VectorType(I64.llvm, LANE_SET.lanes)
    address = _unaligned(frame, numbers, index)
    frame.builder.store(frame.builder.zext(lanes.value, kind), address, align=I64.alignment)


@Intrinsic
def all_lanes(frame: Frame, lanes: Dynamic) -> Dynamic:
    """Whether a set has all lanes."""
    kind = ir.IntType(LANE_SET.lanes)
    bits = frame.builder.bitcast(lanes.value, kind)
    return Dynamic(I1, frame.builder.icmp_unsigned("==", bits, ir.Constant(kind, -1)))


@Intrinsic
def equal_lanes(frame: Frame, left: Dynamic, right: Dynamic) -> Dynamic:
    """A number with a bit for each of eight lanes: whether both numbers there are equal."""
    builder = frame.builder
    equal = builder.fcmp_ordered("==", left.value, right.value)
    return Dynamic(I64, builder.zext(builder.bitcast(equal, ir.IntType(8)), I64.llvm))


@Intrinsic
def select(frame: Frame, condition: Any, chosen: Any, otherwise: Any) -> Any:
    """One of two values without a branch, lane by lane for a mask; both are evaluated."""
    if not isinstance(condition, Dynamic):
        return chosen if condition else otherwise
    kinds = [value.type for value in (chosen, otherwise) if isinstance(value, Dynamic)]
    if condition.type is LANE_SET:
        kind = next((kind for kind in kinds if kind.is_vector), VECTOR)
    else:
        kind = kinds[0] if kinds else arithmetic.natural_type(chosen)
    first, second = (convert(frame.builder, value, kind) for value in (chosen, otherwise))
    return Dynamic(kind, frame.builder.select(condition.value, first.value, second.value))


@Intrinsic
def horizontal_sum(frame: Frame, vector: Dynamic) -> Dynamic:
    """Sum of the lanes in `f64`, pairwise: errors grow with the logarithm of the lanes."""
    builder = frame.builder
    numbers = _widened(frame, vector)
    lanes = range(vector.type.lanes)
    parts = [builder.extract_element(numbers, ir.Constant(_I32, k)) for k in lanes]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [builder.fadd(parts[k], parts[k + half]) for k in range(half)]
    return Dynamic(F64, parts[0])


def _call_intrinsic(frame: Frame, name: str, kind: Type, *arguments: ir.Value) -> Dynamic:
    declared = frame.builder.module.declare_intrinsic(name, [kind.llvm])
    return Dynamic(kind, frame.builder.call(declared, arguments))


@Intrinsic
def count_ones(frame: Frame, bits: Any) -> Dynamic:
    """Count the set bits."""
    return _call_intrinsic(frame, "llvm.ctpop", I64, convert(frame.builder, bits, I64).value)


@Intrinsic
def count_trailing_zeros(frame: Frame, bits: Any) -> Dynamic:
    """Position of the lowest set bit, 64 where there is none."""
    return _count_zeros(frame, "llvm.cttz", bits)


@Intrinsic
def count_leading_zeros(frame: Frame, bits: Any) -> Dynamic:
    """How many bits are above the highest set one, 64 where there is none."""
    return _count_zeros(frame, "llvm.ctlz", bits)


def _count_zeros(frame: Frame, name: str, bits: Any) -> Dynamic:
    function_type = ir.FunctionType(I64.llvm, [I64.llvm, I1.llvm])
    declared = frame.builder.module.declare_intrinsic(name, [I64.llvm], function_type)
    number = convert(frame.builder, bits, I64).value
    return Dynamic(I64, frame.builder.call(declared, [number, ir.Constant(I1.llvm, 0)]))


@Intrinsic
def square_root(frame: Frame, number: Any) -> Dynamic:
    """Square root, of a number or of each in a `v8`."""
    if not isinstance(number, Dynamic) or number.type is not V8:
        return _call_intrinsic(frame, "llvm.sqrt", F64, convert(frame.builder, number, F64).value)
    # llvmlite has no names of intrinsics on vectors.
    kind = ir.FunctionType(V8.llvm, [V8.llvm])
    declared = frame.builder.module.declare_intrinsic("llvm.sqrt.v8f64", (), kind)
    return Dynamic(V8, frame.builder.call(declared, [number.value]))


@Intrinsic
def wrapping_product(frame: Frame, left: Any, right: Any) -> Dynamic:
    """Product modulo 2^64; by `*`, a product must be an `i64` (`guards`)."""
    first, second = (convert(frame.builder, value, I64) for value in (left, right))
    return Dynamic(I64, frame.builder.mul(first.value, second.value))


@Intrinsic
def shift_right_logical(frame: Frame, bits: Any, count: Any) -> Dynamic:
    """Shift to the right, filling with zeros."""
    number, amount = (convert(frame.builder, value, I64) for value in (bits, count))
    guard(frame.builder, "shift", amount.value)
    return Dynamic(I64, frame.builder.lshr(number.value, amount.value))


@Intrinsic
def to_float(frame: Frame, number: Any) -> Dynamic:
    """Nearest `f64` of an integer."""
    return Dynamic(F64, frame.builder.sitofp(convert(frame.builder, number, I64).value, F64.llvm))


@Intrinsic
def to_integer(frame: Frame, number: Dynamic) -> Dynamic:
    """`i64` of a truth value, of a narrower integer, or of an `f64` (rounded towards zero)."""
    if number.type is F64:
        return Dynamic(I64, frame.builder.fptosi(number.value, I64.llvm))
    if number.type is I1:
        return Dynamic(I64, frame.builder.zext(number.value, I64.llvm))
    return Dynamic(I64, frame.builder.sext(number.value, I64.llvm))


@Intrinsic
def prefetch(frame: Frame, pointer: Dynamic) -> None:
    """Begin to fetch what will be read and written soon; any address will do."""
    kinds = [ir.PointerType(), _I32, _I32, _I32]
    function_type = ir.FunctionType(ir.VoidType(), kinds)
    declared = frame.builder.module.declare_intrinsic("llvm.prefetch", [kinds[0]], function_type)
    frame.builder.call(declared, [pointer.value, *(ir.Constant(_I32, n) for n in (1, 3, 1))])


@Intrinsic
def cast(_frame: Frame, pointer: Dynamic, kind: Any) -> Dynamic:
    """The same address as another pointer type or record: pointers are opaque in LLVM."""
    if not isinstance(pointer.type, PointerType):
        raise TypeMismatch(f"cast takes a pointer, not {pointer.type.name}")
    return Dynamic(type_of_annotation(kind), pointer.value)


@Intrinsic
def address(frame: Frame, pointer: Dynamic) -> Dynamic:
    """An address as a number."""
    return Dynamic(I64, frame.builder.ptrtoint(pointer.value, I64.llvm))


@Intrinsic
def at(frame: Frame, number: Any) -> Dynamic:
    """The pointer to an address that is known as a number."""
    target = pointer_to(F64)
    address = convert(frame.builder, number, I64).value
    return Dynamic(target, frame.builder.inttoptr(address, target.llvm))


@Intrinsic
def to_i32(frame: Frame, number: Any) -> Dynamic:
    """The low half of an integer."""
    return Dynamic(I32, frame.builder.trunc(convert(frame.builder, number, I64).value, I32.llvm))


@Intrinsic
def null(_frame: Frame, kind: Any) -> Dynamic:
    """The null pointer of a type."""
    target = type_of_annotation(kind)
    return Dynamic(target, ir.Constant(target.llvm, None))


@Intrinsic
def is_null(frame: Frame, pointer: Dynamic) -> Dynamic:
    """Whether an address is null."""
    zero = ir.Constant(pointer.type.llvm, None)
    return Dynamic(I1, frame.builder.icmp_unsigned("==", pointer.value, zero))


@Intrinsic
def stack_array(frame: Frame, kind: Any, count: int) -> Dynamic:
    """Room for `count` (static) elements until the function returns."""
    element = type_of_annotation(kind)
    return Dynamic(pointer_to(element), _on_stack(frame, element, count))


@Intrinsic
def stack_record(frame: Frame, kind: Any) -> Dynamic:
    """Room for a record until the function returns."""
    words = _on_stack(frame, I64, size_of(kind) // 8)
    return Dynamic(type_of_annotation(kind), words)


def _on_stack(frame: Frame, element: Type, count: int) -> ir.Value:
    if frame.is_for_all_threads:
        raise TypeMismatch("memory on the stack, which is a thread's, outside of each_thread()")
    return frame.allocate(element, count)


@Intrinsic
def registers(frame: Frame, kind: Any, count: int) -> Registers:
    """A row of variables, indexed by static integers, that LLVM keeps in registers."""
    element = type_of_annotation(kind)
    slots = (Slot(element, frame.allocate(element), frame.phase) for _ in range(count))
    return Registers(tuple(slots))


def _unaligned(frame: Frame, pointer: Dynamic, index: Any) -> ir.Value:
    step = convert(frame.builder, index, I64).value
    kind = STORED.llvm if _is_stored(pointer) else F64.llvm
    return frame.builder.gep(pointer.value, [step], source_etype=kind)


def _is_stored(pointer: Dynamic) -> bool:
    return isinstance(pointer.type, PointerType) and pointer.type.element is STORED


@Intrinsic
def load_unaligned(frame: Frame, pointer: Dynamic, index: Any) -> Dynamic:
    """A vector from `pointer + index`, which need not be aligned; eight numbers of a `ptr[f64]`."""
    kind = VECTOR if _is_stored(pointer) else V8
    address = _unaligned(frame, pointer, index)
    alignment = STORED.alignment if _is_stored(pointer) else F64.alignment
    return Dynamic(kind, frame.builder.load(address, typ=kind.llvm, align=alignment))


@Intrinsic
def store_unaligned(frame: Frame, pointer: Dynamic, index: Any, vector: Dynamic) -> None:
    """Write numbers to `pointer + index`, which need not be aligned."""
    address = _unaligned(frame, pointer, index)
    alignment = STORED.alignment if _is_stored(pointer) else F64.alignment
    frame.builder.store(vector.value, address, align=alignment)


@Intrinsic
def first_lane(frame: Frame, number: Any) -> Dynamic:
    """A vector with a number in its first lane and zeros in the others."""
    zeros = ir.Constant(VECTOR.llvm, [0.0] * VECTOR.lanes)
    value = convert(frame.builder, number, STORED).value
    return Dynamic(VECTOR, frame.builder.insert_element(zeros, value, ir.Constant(_I32, 0)))


@Intrinsic
def lane_of(frame: Frame, vector: Dynamic, lane: int) -> Dynamic:
    """The number in a (static) lane of a vector, as `f64`."""
    number = frame.builder.extract_element(vector.value, ir.Constant(_I32, lane))
    return Dynamic(F64, arithmetic.widened(frame.builder, number, F64.llvm))
