"""What threads need of a kernel, as instructions: atomics, addresses of functions, global records.

Every atomic operation is sequentially consistent: none of them stands in an inner loop, so
weaker orders would save nothing and cost thought. Like `instructions.py`, behind `intrinsics.py`.
"""

from typing import Any

from llvmlite import ir

from diastase_engine.language.arithmetic import TypeMismatch, convert
from diastase_engine.language.functions import Intrinsic, Kernel, Shared, Signature
from diastase_engine.language.instructions import Frame
from diastase_engine.language.types import CODE, I64, PointerType, pointer_to, record_layout
from diastase_engine.language.values import Dynamic

_ORDER = "seq_cst"
_CACHE_LINE = 64
SHARED = ".shared"
"""How the names of global records end."""
_X86 = ("x86_64", "i686")
_ARM = ("aarch64", "arm64")


@Intrinsic
def atomic_add(frame: Frame, pointer: Dynamic, change: Any) -> Dynamic:
    """Add to a number that threads share; returns what it was before."""
    return _exchange(frame, "add", pointer, change)


@Intrinsic
def atomic_store(frame: Frame, pointer: Dynamic, value: Any) -> None:
    """Set a number that threads share."""
    _exchange(frame, "xchg", pointer, value)


def _exchange(frame: Frame, operation: str, pointer: Dynamic, value: Any) -> Dynamic:
    _check(pointer)
    number = convert(frame.builder, value, I64).value
    return Dynamic(I64, frame.builder.atomic_rmw(operation, pointer.value, number, _ORDER))


@Intrinsic
def atomic_load(frame: Frame, pointer: Dynamic) -> Dynamic:
    """Return a number that threads share."""
    _check(pointer)
    loaded = frame.builder.load_atomic(pointer.value, _ORDER, I64.alignment, typ=I64.llvm)
    return Dynamic(I64, loaded)


@Intrinsic
def atomic_compare_exchange(frame: Frame, pointer: Dynamic, expected: Any, value: Any) -> Dynamic:
    """Set a number that threads share if it is `expected`; returns what it was before."""
    _check(pointer)
    old, new = (convert(frame.builder, number, I64).value for number in (expected, value))
    found = frame.builder.cmpxchg(pointer.value, old, new, _ORDER)
    return Dynamic(I64, frame.builder.extract_value(found, 0))


def _check(pointer: Any) -> None:
    if not (isinstance(pointer.type, PointerType) and pointer.type.element is I64):
        raise TypeMismatch(f"atomic operations work on ptr[i64], not {pointer.type.name}")


@Intrinsic
def pause(frame: Frame) -> None:
    """Tell the processor that this loop waits for another thread, where we know how."""
    builder = frame.builder
    processor = builder.module.triple.partition("-")[0]
    if processor in _X86:
        builder.call(_target_intrinsic(builder.module, "llvm.x86.sse2.pause", []), [])
    elif processor in _ARM:
        hint = _target_intrinsic(builder.module, "llvm.aarch64.hint", [ir.IntType(32)])
        builder.call(hint, [ir.Constant(ir.IntType(32), 1)])


@Intrinsic
def ticks(frame: Frame) -> Dynamic:
    """Read a clock that costs a few nanoseconds, and whose ticks are about one or less."""
    module = frame.builder.module
    kind = ir.FunctionType(I64.llvm, [])
    if module.triple.partition("-")[0] in _X86:
        clock = module.declare_intrinsic("llvm.readcyclecounter", [], kind)
        return Dynamic(I64, frame.builder.call(clock, []))
    clock = module.declare_intrinsic("llvm.readsteadycounter", [], kind)
    steady = frame.builder.call(clock, [])
    return Dynamic(I64, frame.builder.shl(steady, ir.Constant(I64.llvm, 6)))


def _target_intrinsic(module: Any, name: str, parameters: list[ir.Type]) -> Any:
    kind = ir.FunctionType(ir.VoidType(), parameters)
    return module.globals.get(name) or ir.Function(module, kind, name)


@Intrinsic
def code_of(frame: Frame, function: Any) -> Dynamic:
    """Address of a kernel: the LLVM function itself."""
    if not isinstance(function, Kernel):
        raise TypeMismatch("code_of takes a kernel")
    return Dynamic(CODE, frame.declare(function))


class _Callee(ir.Value):
    """An address in the place where llvmlite wants a function."""

    def __init__(self, address: Any, function_type: ir.FunctionType) -> None:
        self.type = address.type
        self.function_type = function_type
        self.get_reference = address.get_reference


@Intrinsic
def call_through(
    frame: Frame, function: Dynamic, signature: Signature, *arguments: Any
) -> Dynamic | None:
    """Call a function by its address."""
    if function.type is not CODE or len(arguments) != len(signature.parameter_types):
        raise TypeMismatch("call_through takes code, its signature, and as many arguments")
    values = [
        convert(frame.builder, argument, kind).value
        for argument, kind in zip(arguments, signature.parameter_types, strict=True)
    ]
    result = frame.builder.call(_Callee(function.value, signature.llvm), values)
    return None if signature.return_type is None else Dynamic(signature.return_type, result)


def shared_record(frame: Frame, declaration: Shared) -> Dynamic:
    """The library's one global of a `shared` declaration, made on first sight."""
    layout = record_layout(declaration.record)
    module = frame.builder.module
    name = layout.name + SHARED
    if name not in module.globals:
        variable: Any = ir.GlobalVariable(module, layout.llvm, name)
        variable.type = ir.PointerType()  # opaque, as all pointers here
        # Where a library is made of parts, each may have it, and the linker takes one.
        variable.linkage, variable.align = "linkonce_odr", _CACHE_LINE
        variable.initializer = ir.Constant(layout.llvm, None)
    return Dynamic(pointer_to(layout), module.globals[name])
