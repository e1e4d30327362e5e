"""Saved functions as libraries of C: `python -m diastase export f.diastase --c folder`.

In: the file of a saved function, and a folder. Out: in the folder a header, the source of a
library, the library, built by the C compiler that there is, and copies of the libraries that it
loads: it can be moved as a whole. Routines of LAPACK and BLAS are SciPy's, where that is installed.
"""

from dataclasses import replace
from pathlib import Path

from diastase.debugging.c_programs import compiler, run
from diastase.jit.options.saving_errors import ChooseProgramError, SaveError
from diastase_runtime.abi import LIBRARY_FIELDS
from diastase_runtime.saved.function import read_programs
from diastase_runtime.standalone.c_library import c_library, c_name
from diastase_toolchain.linker import is_provided


def export_c(
    saved: Path, folder: Path, *, number: int | None = None, name: str | None = None
) -> Path:
    """Write and build the library; `number` is that of the program, from 1. Returns the header.

    `name` is that of the function in C, by default the user's, made different from what the C
    library has: programs would call it instead.
    """
    manifest, artifacts, members = read_programs(saved)
    chosen = number or (1 if len(artifacts) == 1 else 0)
    if not 1 <= chosen <= len(artifacts):
        programs = [f"    {place}: {program}" for place, program in enumerate(manifest.programs, 1)]
        raise ChooseProgramError(function=manifest.name, programs="\n".join(programs))
    program, artifact = manifest.programs[chosen - 1], artifacts[chosen - 1]
    name = _function_name(name or manifest.name)
    paths = {
        kind: folder / f"{name}_{kind}.so"
        for kind in LIBRARY_FIELDS
        if getattr(artifact, kind) is not None
    }
    header, source = c_library(program, replace(artifact, **paths), name)
    written = folder / f"{name}.h", folder / f"{name}.c"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind, path in paths.items():
            path.write_bytes(members[str(getattr(artifact, kind))].content)
        written[0].write_text(header)
        written[1].write_text(source)
    except OSError as error:
        raise SaveError(file=folder, reason=error.strerror or str(error)) from error
    shared = ["-O1", "-shared", "-fPIC", "-fvisibility=hidden"]
    library = str((folder / f"lib{name}.so").absolute())
    needs = ["-ldl", "-lm", "-lpthread"]
    run([compiler(), *shared, "-o", library, str(written[1].absolute()), *needs])
    return written[0]


def _function_name(word: str) -> str:
    name = c_name(word)
    while is_provided(name):
        name += "_"
    return name
