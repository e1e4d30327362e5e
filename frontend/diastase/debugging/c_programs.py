"""Compiled functions that run without Python: as C source, and as executables.

In: a compiled function, and the arguments of one call. Out: a program in C that makes this call and
prints the results, each leaf on a line of its own. The engine, the thread pool and the libraries of
linear algebra are those that Python would use.

The trap: C source names libraries where they lie, in the cache or, without one, in a folder that
goes with the process; an executable has copies of ours beside it, and SciPy's where that is
installed.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from diastase.debugging.ir import qjit_function
from diastase.jit.options.ir_errors import CompilerNotFoundError
from diastase.jit.qjit import QJIT
from diastase.jit.stages.saving import needs_python
from diastase.jit.stages.stages import Compiled
from diastase.jit.stages.trace_call import read_arguments
from diastase_mlir import LinkError, at, user_span, with_libraries
from diastase_mlir.options import file_name, workspace
from diastase_runtime import c_source
from diastase_runtime.abi import LIBRARY_FIELDS, Artifact
from diastase_toolchain.linker import find_program

_COMPILERS = ("cc", "gcc", "clang")

_kept: list[Artifact] = []
"""What C sources name must not go with the function: a library without a cache goes with it."""


@dataclass(frozen=True)
class _Call:
    """One call of a compiled function, ready to be written in C."""

    compiled: Compiled
    arguments: Sequence[np.ndarray]

    @property
    def loaded(self) -> Artifact:
        return self.compiled.direct_call.executable.artifact

    @property
    def artifact(self) -> Artifact:
        """The same with whole engines, which nothing exchanges without Python."""
        return with_libraries(self.loaded, whole=True)

    @property
    def names(self) -> list[str]:
        """What each line of output begins with: the place in the pytree, nothing for one array."""
        tree = self.compiled.out_tree
        paths, _ = jax.tree_util.tree_flatten_with_path(tree.unflatten(range(tree.num_leaves)))
        return [jax.tree_util.keystr(path) for path, _ in paths]

    def source(self, locate: Any = str) -> str:
        seed = self.compiled.interface.seed
        return c_source(self.artifact, self.arguments, self.names, seed, locate)


def get_cmain(fn: QJIT, *args: Any) -> str:
    """Return a C program that calls a compiled function with these arguments.

    It loads the compiled function from where it lies, so it needs nothing but a C compiler: `cc -o
    f f.c -ldl -lm`. It prints each array of the result on a line, in nested lists; where there are
    several, a line begins with the array's place in the pytree. Results of `qml.counts` are two
    arrays. If the program fails it exits with 1, and the error is on the standard error.

    Args:
        fn: a compiled function.
        *args: its arguments, whose values are written into the program.

    Returns:
        The text of the program.

    Raises:
        NeedsPythonError: a `NotImplementedError`, if the function calls Python.
        NotAQjitFunctionError: a `TypeError`, for what is not compiled.
        UnsupportedArgumentError: a `TypeError`, for arguments that are no arrays.

    Example:
        >>> from diastase import debug, qjit
        >>> text = debug.get_cmain(qjit(lambda x: 2 * x), 1.0)
        >>> "int main(" in text
        True

    """
    call = _read_call(fn, args, "get_cmain")
    _kept.append(call.loaded)
    return call.source()


def compile_executable(fn: QJIT, *args: Any) -> str:
    r"""Compile the C program of `get_cmain`.

    It lies in the folder `fn.workspace`, with copies of the libraries that it needs; the folder can
    be moved to another place, or to a machine with the same processor. The compiler is the one that
    `DIASTASE_CC` names, or `cc`, `gcc` or `clang`.

    Args:
        fn: a compiled function.
        *args: its arguments, whose values are written into the program.

    Returns:
        The path of the executable.

    Raises:
        CompilerNotFoundError: a `RuntimeError`, where there is no C compiler.
        NeedsPythonError: a `NotImplementedError`, if the function calls Python.
        NotAQjitFunctionError: a `TypeError`, for what is not compiled.

    Example:
        >>> import subprocess
        >>> from diastase import debug, qjit
        >>> binary = debug.compile_executable(qjit(lambda x: 2 * x), 1.0)
        >>> subprocess.run([binary], capture_output=True, text=True).stdout
        '2.0\n'

    """
    call = _read_call(fn, args, "compile_executable")
    name = file_name(call.compiled.fun_name)
    options = call.compiled.interface.options
    folder = workspace(name, options)

    def copy(library: Path) -> str:
        kind = next(kind for kind in LIBRARY_FIELDS if getattr(call.artifact, kind) == library)
        own = folder / f"{name}_{kind}.so"
        shutil.copy(library, own)
        return own.name

    source, binary = folder / f"{name}.c", folder / f"{name}.out"
    source.write_text(call.source(copy))
    run([compiler(), "-O1", "-o", str(binary), str(source), "-ldl", "-lm", "-Wl,-rpath,$ORIGIN"])
    return str(binary)


def _read_call(fn: Any, args: tuple[Any, ...], caller: str) -> _Call:
    """Find or compile the program for a call; refuses one that calls Python."""
    function = qjit_function(fn, caller)
    declared = function.programs.declared
    with at(user_span()):
        positional, named = (args, {}) if declared is None else declared.in_place(args, {})
        arguments = read_arguments(function.signature, function.signature.split(positional, named))
        compiled = function.programs.compiled_for(arguments)
    if compiled.direct_call.executable.artifact.callbacks:
        raise needs_python(compiled)
    return _Call(compiled, compiled.direct_call.arrays(arguments.leaves))


def compiler() -> str:
    """The first C compiler there is."""
    override = os.environ.get("DIASTASE_CC", "")
    own = () if Path(override).name.startswith(("ld", "mold")) or not override else (override,)
    found = next(filter(None, map(find_program, own or _COMPILERS)), None)
    if found is None:
        raise CompilerNotFoundError(tried=", ".join(own or _COMPILERS))
    return found


def run(command: list[str]) -> None:
    """Run a compiler; raises what it says."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LinkError(command=" ".join(command), reason=done.stderr.strip())
