"""Functions for looking into programs: while they run, and while they are compiled.

`print` and the others work inside of compiled functions and outside; each is imported when it is
first used.
"""

from typing import TYPE_CHECKING

from diastase.namespace.lazy_names import lazy_names, public_names

if TYPE_CHECKING:
    from diastase.callbacks.debugging import callback, print, print_memref
    from diastase.debugging.c_programs import compile_executable, get_cmain
    from diastase.debugging.instrumentation import instrumentation
    from diastase.debugging.ir import (
        CompiledModule,
        compile_from_mlir,
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
        "diastase.callbacks.debugging": ("callback", "print", "print_memref"),
        "diastase.debugging.c_programs": ("compile_executable", "get_cmain"),
        "diastase.debugging.instrumentation": ("instrumentation",),
        "diastase.debugging.ir": (
            "CompiledModule",
            "compile_from_mlir",
            "get_compilation_stage",
            "get_compilation_stages_groups",
            "replace_ir",
        ),
    },
)
__dir__ = public_names(__name__)
