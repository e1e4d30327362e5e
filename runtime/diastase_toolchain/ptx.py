"""LLVM IR text to PTX, the assembly of NVIDIA's GPUs, by llvmlite.

In: a module for `TRIPLE` in which only entries are not internal. Out: text that the driver of a GPU
compiles for the one there is, of the architecture named or a later one.
"""

import llvmlite.binding as llvm

from diastase_toolchain.machine_code import InvalidLLVMError, run_passes

TRIPLE = "nvptx64-nvidia-cuda"
ARCHITECTURE = "sm_80"
"""The oldest that is known to do (A100, 2020): a driver compiles the text for any later one."""


def ptx(text: str, architecture: str) -> str:
    """Optimise a module and write it as PTX."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(cpu=architecture, opt=3)
    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(text, context)
        except RuntimeError as error:
            raise InvalidLLVMError(str(error)) from None
        with module:
            module.data_layout = str(machine.target_data)
            options = llvm.create_pipeline_tuning_options(speed_level=3)
            builder = llvm.create_pass_builder(machine, options)
            run_passes(builder.getModulePassManager(), module, builder)
            return machine.emit_assembly(module)
