"""The engine compiled for processors other than the one at hand, as `build` does for that one."""

from collections.abc import Mapping
from pathlib import Path

import llvmlite.binding as llvm

from diastase_mlir.codegen import link
from diastase_mlir.kernels.build import SYMBOL_PREFIX
from diastase_mlir.kernels.language import compile_kernels
from diastase_mlir.kernels.state_vector.exports import EXPORTS


def engine_object(triple: str, processor: str, settings: Mapping[str, int]) -> bytes:
    """Optimised machine code of the whole engine."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    kernels = {SYMBOL_PREFIX + name: function for name, function in EXPORTS.items()}
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=processor, opt=2, reloc="pic", codemodel="default")
    with (
        llvm.create_context() as context,
        llvm.parse_assembly(str(compile_kernels(kernels, triple, settings)), context) as module,
    ):
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return machine.emit_object(module)


def build_engine_for(processor: str, settings: Mapping[str, int], library: Path) -> None:
    """Build a library for another processor of this machine's family."""
    link.link(engine_object(llvm.get_default_triple(), processor, settings), library)
