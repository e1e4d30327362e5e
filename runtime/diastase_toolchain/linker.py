"""A shared library from object files, by the system's linker.

`ld` itself is preferred: it needs no C start-up files for a library without constructors, and
takes 3 ms where a compiler driver takes 15. Symbols of libc and libm stay undefined: they are
found in the process when the library is loaded (Python itself is linked with both).

Everything else that is undefined is an error here, not when the library is loaded. On Linux the
object itself is asked, whatever the linker: to check it by `-z defs`, a linker reads the whole C
library, which takes 27 ms (docs/decisions/0038). On macOS the driver checks it.

Whatever goes wrong is a `LinkError`: a linker that hangs, and one that is content with having
written nothing, too, whose work would else be kept in the cache.
"""

import ctypes
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from diastase_toolchain.background import go_on, may_be_ended, still_awaited
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

_HEADER = struct.Struct("<40xQ10xHH")
"""Of 64-bit ELF: where the table of sections is, the size of each of them, their number."""

PATIENCE = 300.0
"""Seconds after which a linker hangs: it takes milliseconds, on a slow disk perhaps seconds."""


def link(machine_code: bytes, library: Path) -> None:
    """Link one object into a shared library; the object is kept beside it meanwhile."""
    link_parts([machine_code], library)


def link_parts(objects: Sequence[bytes], library: Path) -> None:
    """Link several objects, which may call each other."""
    sources = [library.with_suffix(f".{number}.o") for number in range(len(objects))]
    try:
        _check_symbols(objects, library)
        command = _linker()
        for source, machine_code in zip(sources, objects, strict=True):
            source.write_bytes(machine_code)
        _run([*command, "-o", str(library), *map(str, sources)])
        if not _is_whole(library):
            raise LinkError(command=" ".join(command), reason="it has written no whole library")
    except OSError as error:
        raise LinkError(command=f"making {library}", reason=str(error)) from None
    finally:
        for source in sources:
            with suppress(OSError):
                source.unlink()


def _check_symbols(objects: Sequence[bytes], library: Path) -> None:
    missing = [name for name in _undefined_in_all(objects) if not is_provided(name)]
    if missing:
        reason = f"undefined symbols: {', '.join(missing)}; please report it, with the program"
        raise LinkError(command=str(library), reason=reason)


def _is_whole(library: Path) -> bool:
    """Whether all is there that the header tells of: linkers write the table of sections last."""
    with library.open("rb") as file:
        header = file.read(_HEADER.size)
        size = os.fstat(file.fileno()).st_size
    if not header.startswith(_ELF):
        return sys.platform == "darwin" and size > 0
    place, each, number = _HEADER.unpack(header.ljust(_HEADER.size, b"\xff"))
    return size >= place + each * number


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
    may_be_ended(False)  # the process waits for us: we end the linker, and remove its files
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        close_fds=False,  # saves closing them
        process_group=0,  # of which a driver's own processes are, too
    )
    with process, _ended_in_time(process) as was_ended:
        _, printed = process.communicate()
    if was_ended():
        go_on()
        reason = f"it had not ended after {PATIENCE:.0f} seconds"
        raise LinkError(command=" ".join(command), reason=reason)
    if process.returncode != 0:
        reason = printed.strip() or f"exit status {process.returncode}"
        raise LinkError(command=" ".join(command), reason=reason)


@contextmanager
def _ended_in_time(process: "subprocess.Popen[str]") -> Generator[Callable[[], bool]]:
    """End a process, with all of its group, that takes too long or that nobody waits for."""
    is_over, was_ended = threading.Event(), threading.Event()
    is_awaited, until = still_awaited(), time.monotonic() + PATIENCE

    def watch() -> None:
        while not is_over.wait(0.05):
            if not is_awaited() or time.monotonic() > until:
                was_ended.set()
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                return

    watcher = threading.Thread(target=watch, name="diastase-link", daemon=True)
    with suppress(RuntimeError):  # no thread can be started: the linker is trusted
        watcher.start()
    try:
        yield was_ended.is_set
    finally:
        is_over.set()
