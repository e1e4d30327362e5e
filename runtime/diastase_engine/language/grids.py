"""Kernels of a GPU: grids of blocks of threads, for a GPU itself or for the host.

A *grid's kernel* is `@kernel def name(block: i64, arguments: SomeRecord) -> None`: what the block
of this number does. `compile_grids` makes entries of such kernels, which are launched with a number
of blocks and the words of the record. Blocks run in any order, at the same time perhaps.

The threads of a block, `THREADS` of them, do together what stands outside of loops, each of
them the same; and each its own share of a loop over threads:

    numbers = shared_array(f64, THREADS)
    for thread in each_thread():
        numbers[thread] = ...
    for thread in each_thread():
        ... numbers[THREADS - 1 - thread] ...

After such a loop the threads wait for each other: what one has written, all of them see in the
next. So barriers are never forgotten, nor met by some of the threads only. On the host it is a
loop that one thread runs, which computes the same, sums in the same order.

What would not mean the same in both is refused. Outside of loops over threads nothing changes
memory, looks into the block's own, or calls a kernel that is not inline; inside, variables from
outside do not change, and a thread ends its share by `continue` only. Two things cannot be seen
here: that two threads use the same memory in one loop, which a test finds that runs the threads in
another order (the setting `order`); and that blocks look at, outside of loops, what the same
launch changes.

Memory of a block is not set; on the host it is NaN at first.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from diastase_engine.language.arithmetic import TypeMismatch, convert
from diastase_engine.language.functions import Intrinsic, Kernel, KernelLanguageError
from diastase_engine.language.instructions import Frame
from diastase_engine.language.types import (
    I32,
    I64,
    PAIR,
    STORED,
    PointerType,
    RecordLayout,
    SharedPointer,
    Type,
    size_of,
    type_of_annotation,
)
from diastase_engine.language.values import Dynamic

THREADS, ORDER = "threads", "order"
"""Settings: the threads of a block, a power of two; a mask that says in which order the host runs
them (thread k^ORDER is the k-th), and if not 0 that blocks run backwards."""
SHARED_BYTES = 48 << 10
"""What a block can have on any GPU without asking for it."""
_SHARED_SPACE = 3
_BLOCK, _THREAD = "llvm.nvvm.read.ptx.sreg.ctaid.x", "llvm.nvvm.read.ptx.sreg.tid.x"
_BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
_MEMSET = "llvm.memset.p0.i64"


def is_for_gpu(module: ir.Module) -> bool:
    """Whether a module is for a GPU, not for the host."""
    return module.triple.startswith("nvptx")


@Intrinsic
def each_thread(_frame: Frame) -> None:
    """Go through the threads of a block: only in a `for` statement."""
    raise TypeMismatch("each_thread() anywhere but in a for statement")


@Intrinsic
def pair_of(frame: Frame, first: Any, second: Any) -> Dynamic:
    """A complex number of its two parts."""
    result: ir.Value = ir.Constant(PAIR.llvm, ir.Undefined)
    for lane, number in enumerate((first, second)):
        value = convert(frame.builder, number, STORED).value
        result = frame.builder.insert_element(result, value, ir.Constant(I32.llvm, lane))
    return Dynamic(PAIR, result)


@Intrinsic
def shared_array(frame: Frame, kind: Any, count: int) -> Dynamic:
    """Room for `count` (static) elements that the threads of a block share."""
    if not frame.is_for_all_threads:
        raise TypeMismatch("shared_array outside of a grid's kernel, or inside of each_thread()")
    element = type_of_annotation(kind)
    size = count * _bytes_of(element)
    frame.shared_bytes += size
    if frame.shared_bytes > SHARED_BYTES:
        raise TypeMismatch(f"{frame.shared_bytes} bytes for a block, which has {SHARED_BYTES}")
    pointer = SharedPointer(f"shared[{element.name}]", ir.PointerType(), 8, element)
    builder = frame.builder
    if not is_for_gpu(builder.module):
        address = frame.allocate(element, count)
        _fill_with_nan(builder, address, size)
        return Dynamic(pointer, address)
    array, name = ir.ArrayType(element.llvm, count), builder.module.get_unique_name("shared")
    variable: Any = ir.GlobalVariable(builder.module, array, name, addrspace=_SHARED_SPACE)
    variable.linkage, variable.align = "internal", 16
    variable.initializer = ir.Constant(array, ir.Undefined)
    variable.type = ir.PointerType(addrspace=_SHARED_SPACE)  # opaque, as all pointers here
    return Dynamic(pointer, builder.addrspacecast(variable, ir.PointerType()))


def _bytes_of(element: Type) -> int:
    return 2 * STORED.alignment if element is PAIR else size_of(element)


def _fill_with_nan(builder: Any, address: ir.Value, size: int) -> None:
    kinds = [ir.PointerType(), ir.IntType(8), I64.llvm, ir.IntType(1)]
    memset = _intrinsic(builder, _MEMSET, ir.FunctionType(ir.VoidType(), kinds))
    numbers = [ir.Constant(of, n) for of, n in zip(kinds[1:], (-1, size, 0), strict=True)]
    builder.call(memset, [address, *numbers])


def loop_over_threads(frame: Frame, body: Callable[[ir.Value, ir.Block], None]) -> None:
    """Build a loop over threads; `body` is given a thread's number, and where its share ends."""
    builder = frame.builder
    frame.begin_phase()
    end = builder.append_basic_block("thread.end")
    if is_for_gpu(builder.module):
        body(_number(builder, _THREAD), end)
        _go_on_at(builder, end)
        barrier = _intrinsic(builder, _BARRIER, ir.FunctionType(ir.VoidType(), [I32.llvm]))
        builder.call(barrier, [ir.Constant(I32.llvm, 0)])
    else:
        count = ir.Constant(I64.llvm, frame.settings[THREADS])
        with _counted(builder, frame.allocate(I64), count) as number:
            order = ir.Constant(I64.llvm, frame.settings.get(ORDER, 0))
            body(builder.xor(number, order), end)
            _go_on_at(builder, end)
    frame.phase = 0


@contextmanager
def _counted(builder: Any, counter: ir.Value, count: ir.Value) -> Generator[ir.Value]:
    """Build a loop whose body is what is built inside; the number of the turn."""
    head, inside, end = (builder.append_basic_block(name) for name in ("head", "body", "end"))
    builder.store(ir.Constant(I64.llvm, 0), counter)
    _go_on_at(builder, head)
    number = builder.load(counter, typ=I64.llvm)
    builder.cbranch(builder.icmp_signed("<", number, count), inside, end)
    builder.position_at_end(inside)
    yield number
    builder.store(builder.add(number, ir.Constant(I64.llvm, 1)), counter)
    builder.branch(head)
    builder.position_at_end(end)


def _go_on_at(builder: Any, block: ir.Block) -> None:
    if not builder.block.is_terminated:
        builder.branch(block)
    builder.position_at_end(block)


def words_of(kernel: Kernel[..., Any]) -> int:
    """How many words the record has that a grid's kernel takes."""
    kinds = kernel.parameter_types
    record = kinds[1].element if len(kinds) == 2 and isinstance(kinds[1], PointerType) else None
    if not isinstance(record, RecordLayout) or kinds[0] is not I64 or kernel.return_type:
        what = f"{kernel.name} as a grid's kernel"
        raise KernelLanguageError(what=what, advice="it takes a block's number and a record")
    return sum(max(length, 1) for _, _, length in record.fields)


def add_entry(body: ir.Function, name: str, words: int, settings: Mapping[str, int]) -> None:
    """Add the entry of a grid's kernel, whose body is in a module.

    For a GPU it takes the words of the record as parameters; for the host the number of blocks and
    the address of the words.
    """
    body.linkage = "internal"
    body.attributes.add("alwaysinline")
    if is_for_gpu(body.module):
        _add_gpu_entry(body, name, words, settings[THREADS])
        return
    kind = ir.FunctionType(ir.VoidType(), [I64.llvm, ir.PointerType()])
    entry = ir.Function(body.module, kind, name)
    count, record = entry.args
    builder: Any = ir.IRBuilder(entry.append_basic_block("entry"))
    with _counted(builder, builder.alloca(I64.llvm), count) as number:
        block = number
        if settings.get(ORDER, 0):
            block = builder.sub(builder.sub(count, ir.Constant(I64.llvm, 1)), number)
        builder.call(body, [block, record])
    builder.ret_void()


def _add_gpu_entry(body: ir.Function, name: str, words: int, threads: int) -> None:
    module: Any = body.module
    entry = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64.llvm] * words), name)
    entry.calling_convention = "ptx_kernel"
    builder: Any = ir.IRBuilder(entry.append_basic_block("entry"))
    record = builder.alloca(I64.llvm, ir.Constant(I64.llvm, words))
    for place, word in enumerate(entry.args):
        index = ir.Constant(I64.llvm, place)
        builder.store(word, builder.gep(record, [index], source_etype=I64.llvm))
    builder.call(body, [_number(builder, _BLOCK), record])
    builder.ret_void()
    # So that one block computes while another one waits; left to itself, the assembler spills.
    for what, number in (("maxntidx", threads), ("minctasm", 2)):
        note = module.add_metadata([entry, what, ir.Constant(I32.llvm, number)])
        module.add_named_metadata("nvvm.annotations", note)


def _number(builder: Any, register: str) -> ir.Value:
    read = _intrinsic(builder, register, ir.FunctionType(I32.llvm, []))
    return builder.zext(builder.call(read, []), I64.llvm)


def _intrinsic(builder: Any, name: str, kind: ir.FunctionType) -> ir.Function:
    return builder.module.declare_intrinsic(name, (), kind)
