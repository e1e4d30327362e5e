"""LLVM IR text to a relocatable object for this computer's processor, by llvmlite.

Every definition but those named in `exported` becomes internal, so nothing in one program can
collide with the C library or with another program, and what is not used disappears. Each module
has an LLVM context of its own: types and constants die with it.
"""

import threading
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm
from llvmlite.binding.newpassmanagers import NewPassManager


@dataclass(frozen=True)
class HostProcessor:
    """What machine code is made for; part of every cache key."""

    triple: str
    name: str
    features: str


class InvalidLLVMError(ValueError):
    """Text that is no valid LLVM IR; the pipeline turns it into a `CompileError`."""


@cache
def host_processor() -> HostProcessor:
    """Ask LLVM for this computer's processor."""
    triple = llvm.get_default_triple()
    return HostProcessor(
        triple, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(sort=True)
    )


class _Machines(threading.local):
    """A target machine may serve one thread at a time only, and takes a while to make."""

    machine: llvm.TargetMachine | None = None


_machines = _Machines()


def target_machine() -> llvm.TargetMachine:
    """Return this thread's code generator for the host processor."""
    if _machines.machine is None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        host = host_processor()
        _machines.machine = llvm.Target.from_triple(host.triple).create_target_machine(
            cpu=host.name, features=host.features, opt=2, reloc="pic", codemodel="default"
        )
    return _machines.machine


@contextmanager
def optimised(text: str, exported: Collection[str]) -> Generator[llvm.ModuleRef]:
    """Parse LLVM IR text, hide what is not exported, and optimise the module.

    The module lives inside the `with` only. Left to the garbage collector, a context that is part
    of a cycle (an error's traceback, say) can be freed before its module, which crashes.
    """
    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(text, context)
        except RuntimeError as error:
            raise InvalidLLVMError(str(error)) from None
        with module:
            _optimise(module, exported)
            yield module


def _optimise(module: llvm.ModuleRef, exported: Collection[str]) -> None:
    for definition in (*module.functions, *module.global_variables):
        if not definition.is_declaration and definition.name not in exported:
            definition.linkage = "internal"
    # Unrolling and interleaving double the time of compilation and gain little: loops over
    # arrays are vectorised anyway.
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True
    options.slp_vectorization = False
    options.loop_unrolling = False
    options.loop_interleaving = False
    builder = llvm.create_pass_builder(target_machine(), options)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    # llvmlite 0.50 never frees a pass manager: the no-op `ObjectRef._dispose` hides this one.
    NewPassManager._dispose(passes)  # pyright: ignore[reportPrivateUsage]
    passes.detach()


def emit_object(module: llvm.ModuleRef) -> bytes:
    """Make the object file of an optimised module."""
    return target_machine().emit_object(module)
