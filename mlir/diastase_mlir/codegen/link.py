"""A shared library from an object file, by the system's linker.

`ld` itself is preferred: it needs no C start-up files for a library without constructors, and
takes 3 ms where a compiler driver takes 15. Symbols of libc and libm stay undefined: they are
found in the process when the library is loaded (Python itself is linked with both).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from diastase_mlir.errors import LinkerNotFoundError, LinkError

_DRIVERS = ("cc", "gcc", "clang")
_CANDIDATES = _DRIVERS if sys.platform == "darwin" else ("ld", *_DRIVERS)
_FLAGS = {
    "ld": ("-shared", "--hash-style=gnu", "-z", "noexecstack", "-s"),
    "driver": ("-dynamiclib", "-undefined", "dynamic_lookup", "-nostartfiles")
    if sys.platform == "darwin"
    else ("-shared", "-nostdlib", "-s"),
}


def link(machine_code: bytes, library: Path) -> None:
    """Link one object into a shared library; the object is kept beside it meanwhile."""
    source = library.with_suffix(".o")
    source.write_bytes(machine_code)
    try:
        _run([*_linker(), "-o", str(library), str(source)])
    finally:
        source.unlink()


def _linker() -> list[str]:
    """Find the command that links, without its files: `DIASTASE_CC`, or the first there is."""
    override = os.environ.get("DIASTASE_CC")
    for candidate in (override,) if override else _CANDIDATES:
        path = shutil.which(candidate)
        if path is not None:
            kind = "ld" if Path(path).name in ("ld", "ld.lld", "ld.gold", "mold") else "driver"
            return [path, *_FLAGS[kind]]
    raise LinkerNotFoundError(tried=override or ", ".join(_CANDIDATES))


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
