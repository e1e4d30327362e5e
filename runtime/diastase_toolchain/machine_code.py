"""LLVM IR text to a relocatable object for this computer's processor, by llvmlite.

Every definition but those named in `exported` becomes internal, so nothing in one program can
collide with the C library or with another program, and what is not used disappears. Each module
has an LLVM context of its own: types and constants die with it.

A program without loops runs each of its instructions once per call at most, and one whose loops
run over the eight angles of a circuit not much more often: optimising it as LLVM does loops would
take 10 to 25 ms of compilation to win nanoseconds. It gets five cheap passes (MLIR
has folded and shared what it could before) and LLVM's fast code generator. Of a program with loops,
the functions that have none and run once are taken as they are written: in a small program they
are a third of the lines.
"""

import ctypes
import threading
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi
from llvmlite.binding.newpassmanagers import NewPassManager

from diastase_runtime.abi import ENTRY_SYMBOL
from diastase_toolchain.checked.instrumented import instrumented
from diastase_toolchain.checked.switch import checks
from diastase_toolchain.forks import held_at_forks, kept_at_forks
from diastase_toolchain.processor import asked_processor
from diastase_toolchain.trip_counts import bounded_loops, not_worth_it

# llvmlite lets one thread at a time into LLVM, by a lock of which it says nothing.
held_at_forks(ffi.lib._lock._lock)  # pyright: ignore[reportPrivateUsage]


class InvalidLLVMError(ValueError):
    """Text that is no valid LLVM IR; the pipeline turns it into a `FailedPassError`."""


host_processor = cache(asked_processor)
"""What machine code is made for, as LLVM describes it."""


class Level(IntEnum):
    """How much is done for speed, as LLVM counts."""

    WITHOUT_LOOPS = 0
    VECTORS_AS_WRITTEN = 1
    """Loops whose instructions are of vectors already: the passes of a program without loops, and
    a code generator that keeps values in registers."""
    WITH_LOOPS = 2


MOST_ACCESSES = 200
"""Of memory, in one block, which LLVM's schedulers compare in pairs before they give up on some;
its own bound, 1,000, is as far as their time grows with the square. An option of the process."""


class _Machines(threading.local):
    """A target machine may serve one thread at a time only, and takes a while to make.

    The same holds of a pass builder, of which llvmlite 0.50 never frees all (docs/upstream.md).
    """

    def __init__(self) -> None:
        self.by_level: dict[Level, llvm.TargetMachine] = {}
        self.builders: dict[tuple[Level, bool], llvm.PassBuilder] = {}


_machines = _Machines()


def target_machine(level: Level = Level.WITH_LOOPS) -> llvm.TargetMachine:
    """Return this thread's code generator for the host processor."""
    machine = _machines.by_level.get(level)
    if machine is None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.set_option("", f"-dag-maps-huge-region={MOST_ACCESSES}")
        host = host_processor()
        machine = llvm.Target.from_triple(host.triple).create_target_machine(
            cpu=host.name, features=host.features, opt=level, reloc="pic", codemodel="default"
        )
        _machines.by_level[level] = kept_at_forks(machine)
    return machine


MOST_TURNS = 128
"""Of loops that are not worth 25 ms of LLVM's time: less than a microsecond of each call."""

MOST_TURNS_EACH = 32
"""Of many loops, on average: LLVM takes 3 ms for each."""

LONG_TEXT = 5000
"""Lines, each of which takes LLVM 0.1 ms where loops are optimised, and 8 µs where not: from here
on loops may go through as many lines as `LINES_OF_LOOPS` times what there are."""

LINES_OF_LOOPS = 8
"""So a call takes a few times as long at most as what stands outside of loops."""


def level_for(text: str) -> Level:
    """Look for loops, but for those that take a few turns only."""
    loops, lines = bounded_loops(text), text.count("\n")
    if loops is None:
        return Level.WITH_LOOPS
    are_few = loops.turns <= max(MOST_TURNS, MOST_TURNS_EACH * loops.number)
    are_short = lines >= LONG_TEXT and loops.turns * loops.longest <= LINES_OF_LOOPS * lines
    return Level.WITHOUT_LOOPS if are_few or are_short else Level.WITH_LOOPS


SIDE_BY_SIDE = "diastase-side-by-side"
"""Attribute of a function in which the same is done to numbers that may stand in one vector."""


@dataclass(frozen=True)
class OptimisedModule:
    """A module of LLVM, and what its machine code is worth."""

    module: llvm.ModuleRef
    level: Level


@contextmanager
def optimised(
    text: str,
    exported: Collection[str],
    level: Level | None = None,
    common: Collection[str] = (),
) -> Generator[OptimisedModule]:
    """Parse LLVM IR text, hide what is not exported, and optimise the module.

    Of a part of a library, names in `common` are seen by the other parts and by nobody else.
    In a build that calls a sanitizer, accesses to memory are checked and passes are few.

    The module lives inside the `with` only. Left to the garbage collector, a context that is part
    of a cycle (an error's traceback, say) can be freed before its module, which crashes.
    """
    sanitizer = checks()
    if sanitizer in ("address", "threads"):
        text, level = instrumented(text, sanitizer), Level.VECTORS_AS_WRITTEN
    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(text, context)
        except RuntimeError as error:
            raise InvalidLLVMError(str(error)) from None
        with module:
            level = level_for(text) if level is None else level
            # Without it, passes would place fields of structures elsewhere than machine code does.
            module.data_layout = str(target_machine(level).target_data)
            _hide(module, exported, common)
            if level is Level.WITH_LOOPS:
                for name in not_worth_it(text, ENTRY_SYMBOL):
                    _leave(module.get_function(name))
            _optimise(module, level, side_by_side=SIDE_BY_SIDE in text)
            yield OptimisedModule(module, level)


def _hide(module: llvm.ModuleRef, exported: Collection[str], common: Collection[str]) -> None:
    for definition in (*module.functions, *module.global_variables):
        ours = not definition.is_declaration and not definition.name.startswith("llvm.")
        if definition.name in common:
            definition.visibility = "hidden"
        elif ours and definition.name not in exported:
            definition.linkage = "internal"


def _leave(function: llvm.ValueRef) -> None:
    """Take a function as it is written, unless it becomes a part of others."""
    known: list[bytes] = [*function.attributes]  # all of the function's in one, with blanks
    if b"alwaysinline" not in b" ".join(known).split():
        function.add_function_attribute("noinline")  # or the next is not allowed
        function.add_function_attribute("optnone")


def _pass_builder(level: Level, *, side_by_side: bool) -> llvm.PassBuilder:
    """Return this thread's builder of passes."""
    builder = _machines.builders.get((level, side_by_side))
    if builder is None:
        # Unrolling and interleaving double the time of compilation and gain little: loops over
        # arrays are vectorised anyway. Straight-line code is where that is known to gain: of two
        # or three numbers that depend on each other, vectors are slower.
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = True
        options.slp_vectorization = side_by_side
        options.loop_unrolling = False
        options.loop_interleaving = False
        builder = llvm.create_pass_builder(target_machine(level), options)
        _machines.builders[level, side_by_side] = kept_at_forks(builder)
    return builder


def _optimise(module: llvm.ModuleRef, level: Level, *, side_by_side: bool) -> None:
    builder = _pass_builder(level, side_by_side=side_by_side)
    passes = builder.getModulePassManager() if level is Level.WITH_LOOPS else _few_passes()
    run_passes(passes, module, builder)


def run_passes(
    passes: llvm.ModulePassManager, module: llvm.ModuleRef, builder: llvm.PassBuilder
) -> None:
    """Run passes on a module, once: the pass manager is gone then."""
    _at_once("LLVMPY_RunNewModulePassManager")(passes, module, builder)
    # llvmlite 0.50 never frees a pass manager: the no-op `ObjectRef._dispose` hides this one.
    NewPassManager._dispose(passes)  # pyright: ignore[reportPrivateUsage]
    passes.detach()


def _few_passes() -> llvm.ModulePassManager:
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()  # `codegen.allocation_runtime`, `codegen.import_table`
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_global_dead_code_eliminate_pass()
    return passes


def emit_object(optimised_module: OptimisedModule) -> bytes:
    """Make the object file of an optimised module."""
    machine = target_machine(optimised_module.level)
    with ffi.OutputString() as error:
        emit = _at_once("LLVMPY_TargetMachineEmitToMemory")
        buffer = emit(machine, optimised_module.module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        start = ffi.lib.LLVMPY_GetBufferStart(buffer)
        return ctypes.string_at(start, ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def assembly(optimised_module: OptimisedModule) -> str:
    """What `emit_object` makes of it, as text."""
    return target_machine(optimised_module.level).emit_assembly(optimised_module.module)


def _at_once(name: str) -> Callable[..., Any]:
    """One of LLVM's functions, which several threads may be in at once.

    llvmlite lets one thread at a time into LLVM. What takes long needs no such lock: modules,
    passes and target machines that no two threads share have nothing in common.
    """
    function = getattr(ffi.lib, name)
    return getattr(function, "_cfn", function)


_BITS = {"f32": 32, "f64": 64}


def widths(kind: str) -> tuple[int, ...]:
    """Numbers in the vectors of this processor; none where products are not added in one step."""
    return tuple(bits // _BITS[kind] for bits in register_bits())


def register_bits() -> tuple[int, ...]:
    """Sizes of vector registers, for processors that we know to have `fma`."""
    host = host_processor()
    features = set(host.features.split(","))
    if host.triple.startswith(("aarch64", "arm64")):
        return (128,)
    if not {"+fma", "+avx2"} <= features:
        return ()
    return (128, 256, 512) if "+avx512f" in features else (128, 256)
