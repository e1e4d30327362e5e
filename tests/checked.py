"""Processes of a checked build: `python tests/checked.py address -m pytest tests/engine`.

Runs Python with these arguments, the variable that asks for the checks, and GCC's library that the
checks call in front of all others.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from diastase_toolchain.checked.instrumented import FILLED
from diastase_toolchain.checked.switch import VARIABLE

_LIBRARIES = {"address": "libasan.so", "threads": "libtsan.so"}
_STANDARD_CPP = "libstdc++.so"
"""Loaded with them, so that they find what throws exceptions before who does is loaded."""

_OPTIONS = {
    # What is never freed is Python's; a size that cannot be had is an error of ours.
    "ASAN_OPTIONS": f"detect_leaks=0:handle_abort=1:allocator_may_return_null=1:{FILLED}",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:die_after_fork=0",
}


@cache
def library(checks: str) -> Path | None:
    """GCC's library for a kind of checks, if GCC is there and has it."""
    return _of_gcc(_LIBRARIES[checks])


def _of_gcc(name: str) -> Path | None:
    if shutil.which("gcc") is None:
        return None
    command = ["gcc", f"-print-file-name={name}"]
    path = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    return path.resolve() if path.is_absolute() else None


def environment(checks: str) -> Mapping[str, str]:
    """Variables of a process that is checked so."""
    if checks == "bounds":
        return {**os.environ, VARIABLE: checks}
    loaded = [str(path) for path in (library(checks), _of_gcc(_STANDARD_CPP)) if path is not None]
    return {**os.environ, VARIABLE: checks, "LD_PRELOAD": ":".join(loaded), **_OPTIONS}


def main(checks: str, *arguments: str) -> None:
    command = [sys.executable, *arguments]
    if checks in _LIBRARIES and library(checks) is None:
        sys.exit(f"{_LIBRARIES[checks]} is not there: it comes with GCC")
    os.execve(sys.executable, command, {**environment(checks)})


if __name__ == "__main__":
    main(*sys.argv[1:])
