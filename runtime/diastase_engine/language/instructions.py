"""LLVM instructions behind the intrinsics: the frame and evaluated arguments in, a value out.

`intrinsics.py` declares what kernels see; each `<name>` here belongs to the declaration of
that name. Arguments may be static; `convert` makes them constants.
"""

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir

from diastase_engine.language import arithmetic
from diastase_engine.language.arithmetic import TypeMismatch, convert
from diastase_engine.language.functions import External, Kernel
from diastase_engine.language.types import (
    F64,
    I1,
    I64,
    LANE_SET,
    V8,
    VECTOR,
    WIDE,
    PointerType,
    Type,
    pointer_to,
    type_of_annotation,
)
from diastase_engine.language.values import Dynamic, Registers, Slot

_I32 = ir.IntType(32)


Declare = Callable[[Kernel[..., Any] | External], ir.Function]


class Frame:
    """The function under construction: its builder, room on its stack, the settings."""

    def __init__(
        self, builder: ir.IRBuilder, declare: Declare, settings: Mapping[str, int]
    ) -> None:
        self.settings = settings
        # Any: llvmlite is untyped, and what is inferred for its decorated methods is wrong.
        self.builder: Any = builder
        self.declare = declare
        self._entry = self.builder.block

    def allocate(self, kind: Type, count: int = 1) -> ir.Value:
        """Room in the entry block, so that a loop does not grow the stack."""
        with self.builder.goto_block(self._entry):
            self.builder.position_at_start(self._entry)
            size = None if count == 1 else ir.Constant(I64.llvm, count)
            address = self.builder.alloca(kind.llvm, size)
            address.align = kind.alignment
            return address


def static(_frame: Frame, iterable: Any) -> Any:
    """Unrolling needs a list; everything in it is known now."""
    return list(iterable)


def broadcast(frame: Frame, number: Any) -> Dynamic:
    """Build a splat, constant for a static number."""
    return convert(frame.builder, number, VECTOR)


def broadcast_wide(frame: Frame, number: Any) -> Dynamic:
    """Build a splat of `f64`."""
    return convert(frame.builder, number, WIDE)


def lane_numbers(_frame: Frame, numbers: list[float]) -> Dynamic:
    """Build a constant."""
    return Dynamic(VECTOR, ir.Constant(VECTOR.llvm, numbers))


def widen(frame: Frame, vector: Dynamic) -> Dynamic:
    """`fpext`, nothing in double precision."""
    return Dynamic(WIDE, arithmetic.widened(frame.builder, vector.value, WIDE.llvm))


def pack(frame: Frame, numbers: Any) -> Dynamic:
    """Build a chain of `insertelement`, which starts with all that are static."""
    known = [0.0 if isinstance(number, Dynamic) else float(number) for number in numbers]
    vector = ir.Constant(V8.llvm, known)
    for lane, number in enumerate(numbers):
        if isinstance(number, Dynamic):
            place = ir.Constant(_I32, lane)
            vector = frame.builder.insert_element(
                vector, convert(frame.builder, number, F64).value, place
            )
    return Dynamic(V8, vector)


def shuffle(frame: Frame, vector: Dynamic, lanes: list[int]) -> Dynamic:
    """`shufflevector` with a constant mask."""
    mask = ir.Constant(ir.VectorType(_I32, vector.type.lanes), lanes)
    return Dynamic(vector.type, frame.builder.shuffle_vector(vector.value, vector.value, mask))


def lanes_match(frame: Frame, mask: Any, value: Any) -> Dynamic:
    """Compare the lane numbers, masked, with a value: one vector comparison."""
    builder = frame.builder
    wanted, bits = (
        arithmetic.splat(builder, convert(builder, number, I64), LANE_SET.lanes)
        for number in (value, mask)
    )
    numbers = list(range(LANE_SET.lanes))
    lanes = ir.Constant(ir.VectorType(I64.llvm, len(numbers)), numbers)
    return Dynamic(LANE_SET, builder.icmp_signed("==", builder.and_(lanes, bits), wanted))


def select(frame: Frame, condition: Any, chosen: Any, otherwise: Any) -> Any:
    """`select`, of lanes where the condition is a mask."""
    if not isinstance(condition, Dynamic):
        return chosen if condition else otherwise
    kinds = [value.type for value in (chosen, otherwise) if isinstance(value, Dynamic)]
    if condition.type is LANE_SET:
        kind = next((kind for kind in kinds if kind.is_vector), VECTOR)
    else:
        kind = kinds[0] if kinds else arithmetic.natural_type(chosen)
    first, second = (convert(frame.builder, value, kind) for value in (chosen, otherwise))
    return Dynamic(kind, frame.builder.select(condition.value, first.value, second.value))


def horizontal_sum(frame: Frame, vector: Dynamic) -> Dynamic:
    """Pairwise, so that rounding errors grow with the logarithm of the lanes; in `f64`."""
    builder = frame.builder
    numbers = widen(frame, vector).value if vector.type is VECTOR else vector.value
    lanes = range(vector.type.lanes)
    parts = [builder.extract_element(numbers, ir.Constant(_I32, k)) for k in lanes]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [builder.fadd(parts[k], parts[k + half]) for k in range(half)]
    return Dynamic(F64, parts[0])


def _call_intrinsic(frame: Frame, name: str, kind: Type, *arguments: ir.Value) -> Dynamic:
    declared = frame.builder.module.declare_intrinsic(name, [kind.llvm])
    return Dynamic(kind, frame.builder.call(declared, arguments))


def count_ones(frame: Frame, bits: Any) -> Dynamic:
    """`llvm.ctpop`."""
    return _call_intrinsic(frame, "llvm.ctpop", I64, convert(frame.builder, bits, I64).value)


def count_trailing_zeros(frame: Frame, bits: Any) -> Dynamic:
    """`llvm.cttz`, defined for zero."""
    function_type = ir.FunctionType(I64.llvm, [I64.llvm, I1.llvm])
    declared = frame.builder.module.declare_intrinsic("llvm.cttz", [I64.llvm], function_type)
    number = convert(frame.builder, bits, I64).value
    return Dynamic(I64, frame.builder.call(declared, [number, ir.Constant(I1.llvm, 0)]))


def square_root(frame: Frame, number: Any) -> Dynamic:
    """`llvm.sqrt`."""
    return _call_intrinsic(frame, "llvm.sqrt", F64, convert(frame.builder, number, F64).value)


def shift_right_logical(frame: Frame, bits: Any, count: Any) -> Dynamic:
    """`lshr`."""
    number, amount = (convert(frame.builder, value, I64) for value in (bits, count))
    return Dynamic(I64, frame.builder.lshr(number.value, amount.value))


def to_float(frame: Frame, number: Any) -> Dynamic:
    """`sitofp`."""
    return Dynamic(F64, frame.builder.sitofp(convert(frame.builder, number, I64).value, F64.llvm))


def to_integer(frame: Frame, number: Dynamic) -> Dynamic:
    """`fptosi`, `zext` of a truth value, `sext` of a narrower integer."""
    if number.type is F64:
        return Dynamic(I64, frame.builder.fptosi(number.value, I64.llvm))
    if number.type is I1:
        return Dynamic(I64, frame.builder.zext(number.value, I64.llvm))
    return Dynamic(I64, frame.builder.sext(number.value, I64.llvm))


def prefetch(frame: Frame, pointer: Dynamic) -> None:
    """`llvm.prefetch`, for writing, to the first-level cache."""
    kinds = [ir.PointerType(), _I32, _I32, _I32]
    function_type = ir.FunctionType(ir.VoidType(), kinds)
    declared = frame.builder.module.declare_intrinsic("llvm.prefetch", [kinds[0]], function_type)
    frame.builder.call(declared, [pointer.value, *(ir.Constant(_I32, n) for n in (1, 3, 1))])


def cast(_frame: Frame, pointer: Dynamic, kind: Any) -> Dynamic:
    """Nothing at all: pointers are opaque in LLVM."""
    if not isinstance(pointer.type, PointerType):
        raise TypeMismatch(f"cast takes a pointer, not {pointer.type.name}")
    return Dynamic(type_of_annotation(kind), pointer.value)


def address(frame: Frame, pointer: Dynamic) -> Dynamic:
    """`ptrtoint`."""
    return Dynamic(I64, frame.builder.ptrtoint(pointer.value, I64.llvm))


def null(_frame: Frame, kind: Any) -> Dynamic:
    """Make the null pointer."""
    target = type_of_annotation(kind)
    return Dynamic(target, ir.Constant(target.llvm, None))


def is_null(frame: Frame, pointer: Dynamic) -> Dynamic:
    """`icmp eq` with null."""
    zero = ir.Constant(pointer.type.llvm, None)
    return Dynamic(I1, frame.builder.icmp_unsigned("==", pointer.value, zero))


def stack_array(frame: Frame, kind: Any, count: int) -> Dynamic:
    """Build an `alloca` in the entry block."""
    element = type_of_annotation(kind)
    return Dynamic(pointer_to(element), frame.allocate(element, count))


def registers(frame: Frame, kind: Any, count: int) -> Registers:
    """One variable for each register: LLVM promotes them."""
    element = type_of_annotation(kind)
    return Registers(tuple(Slot(element, frame.allocate(element)) for _ in range(count)))


def _unaligned(frame: Frame, pointer: Dynamic, index: Any) -> ir.Value:
    step = convert(frame.builder, index, I64).value
    return frame.builder.gep(pointer.value, [step], source_etype=F64.llvm)


def load_unaligned(frame: Frame, pointer: Dynamic, index: Any) -> Dynamic:
    """Build a vector load with the alignment of a number."""
    address = _unaligned(frame, pointer, index)
    return Dynamic(V8, frame.builder.load(address, typ=V8.llvm, align=F64.alignment))


def store_unaligned(frame: Frame, pointer: Dynamic, index: Any, vector: Dynamic) -> None:
    """Build a vector store with the alignment of a number."""
    address = _unaligned(frame, pointer, index)
    frame.builder.store(vector.value, address, align=F64.alignment)
