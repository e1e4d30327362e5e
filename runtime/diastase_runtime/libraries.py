"""Where the entries of an import table come from: the engine, and SciPy's LAPACK and BLAS."""

import ctypes
import importlib
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from diastase_runtime.abi import Artifact, CallContext, Import
from diastase_runtime.errors import InternalError, LibraryLoadError

_CAPSULES = {"lapack": "scipy.linalg.cython_lapack", "blas": "scipy.linalg.cython_blas"}

_capsule_name: Any = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_capsule_pointer: Any = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def open_library(path: Path, *, unique: bool) -> ctypes.CDLL:
    """Load a shared library, as a copy of its own if `unique`.

    The dynamic linker gives the same library twice for the same file; two programs whose code is
    equal but whose callbacks differ would then share one import table.
    """
    try:
        if not unique:
            return ctypes.CDLL(str(path))
        with tempfile.TemporaryDirectory(prefix="diastase-") as directory:
            copy = shutil.copyfile(path, Path(directory, path.name))
            return ctypes.CDLL(str(copy))
    except OSError as error:
        raise LibraryLoadError(library=path, reason=str(error)) from None


def symbol_address(imported: Import, artifact: Artifact) -> int:
    """Find the address of an imported function."""
    if imported.library == "engine":
        if artifact.engine is None:
            raise InternalError(what=f"{artifact.name} imports {imported} but names no engine")
        return _engine_symbol(artifact.engine, imported.name)
    capsule = _capsules(_CAPSULES[imported.library])[imported.name]
    return _capsule_pointer(capsule, _capsule_name(capsule))


def release_states(context: CallContext, artifact: Artifact) -> None:
    """Release the states and scripts that a call has left; the engine unlinks each one."""
    while context.states:
        _releaser("state_release", artifact)(ctypes.addressof(context), context.states)
    while context.scripts:
        _releaser("script_end", artifact)(ctypes.addressof(context), context.scripts)


def _releaser(name: str, artifact: Artifact) -> Callable[[int, int], None]:
    address = symbol_address(Import("engine", name), artifact)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)


def _engine_symbol(library: Path, name: str) -> int:
    try:
        function = _engine(library)[f"diastase_engine_{name}"]
    except AttributeError:
        raise InternalError(what=f"the engine {library} has no function {name}") from None
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


@cache
def _engine(library: Path) -> ctypes.CDLL:
    """Load an engine once; it stays: programs come and go, and its buffers may be kept."""
    return open_library(library, unique=False)


@cache
def _capsules(module: str) -> dict[str, Any]:
    """Return the C functions of a Cython module, imported only for programs that use it."""
    return importlib.import_module(module).__pyx_capi__
