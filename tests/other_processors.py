"""Programs and the engine compiled for processors other than the one at hand."""

from collections.abc import Mapping
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from diastase_engine.language import compile_kernels
from diastase_engine.state_vector.exports import EXPORTS
from diastase_runtime.abi import library_symbol
from diastase_toolchain import linker, machine_code
from diastase_toolchain.checked.switch import checks
from diastase_toolchain.processor import LEVELS, HostProcessor

_X86, _ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
PROCESSORS = {
    **{level: HostProcessor(_X86, level, features) for level, features in LEVELS.items()},
    "AArch64": HostProcessor(_ARM, "neoverse-n1", "+neon"),
}


def at_hand() -> list[str]:
    """The processors whose programs run on this one."""
    available = set(llvm.get_host_cpu_features().flatten().split(","))
    return [level for level, features in LEVELS.items() if set(features.split(",")) <= available]


def compiling_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile programs for this processor, without a cache, until the test ends.

    Not what is written in the kernel language: that is there for the processor at hand.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    monkeypatch.setattr(machine_code, "host_processor", lambda: PROCESSORS[name])
    monkeypatch.setattr(machine_code, "_machines", machine_code._Machines())
    monkeypatch.setenv("DIASTASE_CACHE", "0")


def engine_object(triple: str, processor: str, settings: Mapping[str, int]) -> bytes:
    """Optimised machine code of the whole engine, as `build` makes it for the one at hand.

    It has no checks, so tests that want it are skipped in a checked build.
    """
    if checks():
        pytest.skip("engines for other processors are made without checks")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    kernels = {library_symbol("engine", name): function for name, function in EXPORTS.items()}
    target = llvm.Target.from_triple(triple)
    compiler = target.create_target_machine(cpu=processor, opt=2, reloc="pic", codemodel="default")
    with (
        llvm.create_context() as context,
        llvm.parse_assembly(str(compile_kernels(kernels, triple, settings)), context) as module,
    ):
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_unrolling = False
        builder = llvm.create_pass_builder(compiler, options)
        builder.getModulePassManager().run(module, builder)
        return compiler.emit_object(module)


def build_engine_for(processor: str, settings: Mapping[str, int], library: Path) -> None:
    """Build a library for another processor of this machine's family."""
    linker.link(engine_object(llvm.get_default_triple(), processor, settings), library)
