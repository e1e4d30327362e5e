"""Functions for looking into programs: while they run, and while they are compiled.

`print` and the others work inside of compiled functions and outside; each is imported when it is
first used.
"""

from typing import TYPE_CHECKING

from diastase.api.names import lazy_names, public_names

if TYPE_CHECKING:
    from diastase.api.callbacks.debugging import callback, print, print_memref
    from diastase.api.debugging.c_programs import compile_executable, get_cmain
    from diastase.api.debugging.from_mlir import CompiledModule, compile_from_mlir
    from diastase.api.debugging.instrumentation import instrumentation
    from diastase.api.debugging.stages import (
        get_compilation_stage,
        get_compilation_stages_groups,
        replace_ir,
    )

__all__ = [
    "CompiledModule",
    "callback",
    "compile_executable",
    "compile_from_mlir",
    "get_cmain",
    "get_compilation_stage",
    "get_compilation_stages_groups",
    "instrumentation",
    "print",
    "print_memref",
    "replace_ir",
]

__getattr__ = lazy_names(
    __name__,
    {
        "diastase.api.callbacks.debugging": ("callback", "print", "print_memref"),
        "diastase.api.debugging.c_programs": ("compile_executable", "get_cmain"),
        "diastase.api.debugging.from_mlir": ("CompiledModule", "compile_from_mlir"),
        "diastase.api.debugging.instrumentation": ("instrumentation",),
        "diastase.api.debugging.stages": (
            "get_compilation_stage",
            "get_compilation_stages_groups",
            "replace_ir",
        ),
    },
)
__dir__ = public_names(__name__)
