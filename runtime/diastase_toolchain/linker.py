"""A shared library from object files, by the system's linker.

`ld` itself is preferred: it needs no C start-up files for a library without constructors, and
takes 3 ms where a compiler driver takes 15. Symbols of libc and libm stay undefined: they are
found in the process when the library is loaded (Python itself is linked with both).

Everything else that is undefined is an error here, not when the library is loaded. On Linux the
object itself is asked, whatever the linker: to check it by `-z defs`, a linker reads the whole C
library, which takes 27 ms (docs/decisions/0038). On macOS the driver checks it.
"""

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from diastase_toolchain.checked.switch import SANITIZERS, calls_sanitizers
from diastase_toolchain.errors import LinkerNotFoundError, LinkError

_DRIVERS = ("cc", "gcc", "clang")
_CANDIDATES = _DRIVERS if sys.platform == "darwin" else ("ld", *_DRIVERS)
_FLAGS = {
    "ld": ("-shared", "--hash-style=gnu", "-z", "noexecstack", "-s"),
    "driver": ("-dynamiclib", "-nostartfiles")
    if sys.platform == "darwin"
    else ("-shared", "-nostdlib", "-s"),
}


_ELF = b"\x7fELF"
_SYMBOL = struct.Struct("<IBBHQQ")
"""Of 64-bit ELF: place of the name, kind, visibility, number of the section, address, size."""

_C_LIBRARIES = ("libc.so.6", "libm.so.6")
"""The loader is part of them: they need it."""
_OF_THE_LINKER = "_GLOBAL_OFFSET_TABLE_"


def link(machine_code: bytes, library: Path) -> None:
    """Link one object into a shared library; the object is kept beside it meanwhile."""
    link_parts([machine_code], library)


def link_parts(objects: Sequence[bytes], library: Path) -> None:
    """Link several objects, which may call each other."""
    missing = [name for name in _undefined_in_all(objects) if not is_provided(name)]
    if missing:
        reason = f"undefined symbols: {', '.join(missing)}; please report it, with the program"
        raise LinkError(command=str(library), reason=reason)
    command = _linker()
    sources = [library.with_suffix(f".{number}.o") for number in range(len(objects))]
    try:
        for source, machine_code in zip(sources, objects, strict=True):
            source.write_bytes(machine_code)
        _run([*command, "-o", str(library), *map(str, sources)])
    except OSError as error:
        raise LinkError(command=f"writing {sources[0]}", reason=str(error)) from None
    finally:
        for source in sources:
            source.unlink(missing_ok=True)


def undefined_symbols(machine_code: bytes) -> list[str]:
    """Names that an object expects elsewhere; none where that is left to the linker."""
    return _undefined_in_all([machine_code])


def _undefined_in_all(objects: Sequence[bytes]) -> list[str]:
    """Names that none of these objects defines."""
    symbols = [symbol for machine_code in objects for symbol in _symbols(machine_code)]
    defined = {name for name, is_defined in symbols if is_defined}
    return [name for name, is_defined in symbols if not is_defined and name not in defined]


def _symbols(machine_code: bytes) -> list[tuple[str, bool]]:
    """An object's symbols, and which of them it defines; none where that is left to the linker."""
    if not machine_code.startswith(_ELF):
        return []
    parsed = llvm.ObjectFileRef.from_data(machine_code)
    sections = {section.name(): section.data() for section in parsed.sections()}
    names = sections[b".strtab"]
    symbols = _SYMBOL.iter_unpack(sections[b".symtab"])
    return [
        (names[place : names.index(b"\0", place)].decode(), bool(section))
        for place, _, _, section, _, _ in symbols
        if place
    ]


@cache
def is_provided(symbol: str) -> bool:
    """Whether the C library has it, and whether this process is linked with that.

    What else the process has loaded (a compiler's library with `__divti3`, a BLAS) another process
    may not have, which finds this library in the cache.
    """
    if symbol == _OF_THE_LINKER:
        return True
    if symbol.startswith(SANITIZERS):
        return hasattr(ctypes.CDLL(None), symbol)
    known = any(hasattr(ctypes.CDLL(name), symbol) for name in _C_LIBRARIES)
    return known and hasattr(ctypes.CDLL(None), symbol)


def _linker() -> list[str]:
    """Find the command that links, without its files: `DIASTASE_CC`, or the first there is."""
    override = os.environ.get("DIASTASE_CC")
    for candidate in (override,) if override else _CANDIDATES:
        path = find_program(candidate)
        if path is not None:
            kind = "ld" if Path(path).name in ("ld", "ld.lld", "ld.gold", "mold") else "driver"
            if (
                calls_sanitizers()
            ):  # whose reports name functions, and unwind the stack to find them
                kept = [flag for flag in _FLAGS[kind] if flag != "-s"]
                return [path, *kept, *(["--eh-frame-hdr"] if kind == "ld" else [])]
            return [path, *_FLAGS[kind]]
    raise LinkerNotFoundError(tried=override or ", ".join(_CANDIDATES))


def find_program(name: str) -> str | None:
    """Look a program up on the PATH; what lies in the working directory is not meant."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))


def _run(command: list[str]) -> None:
    """Run the linker; what it prints becomes the error's text."""
    try:
        # close_fds=False lets Python use vfork: no copy of this process's page tables.
        done = subprocess.run(command, capture_output=True, text=True, close_fds=False)
    except OSError as error:
        raise LinkError(command=" ".join(command), reason=str(error)) from None
    if done.returncode != 0:
        reason = done.stderr.strip() or f"exit status {done.returncode}"
        raise LinkError(command=" ".join(command), reason=reason)
