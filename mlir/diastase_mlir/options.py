"""What one compilation is asked for, the folders into which it writes, and what it gives."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from diastase_runtime.abi import Artifact
from diastase_runtime.trusted_files import check_own, temporary_folder


@dataclass(frozen=True)
class CompileOptions:
    """What the user asked of the compiler."""

    keep_intermediate: Literal["none", "stage", "changed", "pass"] = "none"
    """Write the IR after each stage, each pass that changes it, or each pass, into `workspace`."""
    workspace: Path | None = None
    """Where intermediate IR and reproducers go; by default the working directory's `<name>/`, and a
    temporary folder. `workspace()` makes it, or another."""
    pipelines: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    """Stages with names of passes, in the place of `PIPELINE`."""
    use_nameloc: bool = False
    """Name the function's arguments in the IR as the user does."""
    use_cache: bool = True
    """Look the program up in the disk cache and store it there."""
    on_gpu: bool = False
    """Run state vectors on a GPU. Machine code is the same, but for the lanes of batches, which
    tracing decides (`diastase.autodiff.lanes`)."""


def file_name(name: str) -> str:
    """Make a name of a program, a stage or a pass fit for a file."""
    return re.sub(r"[^\w.-]+", "_", name).strip("_.")[:60] or "program"


_taken_instead: dict[Path, Path] = {}
"""Temporary folders, by those that could not be used."""


def workspace(name: str, options: CompileOptions) -> Path:
    """Make the folder: the one asked for or `<name>/` here; where that fails, a temporary one."""
    directory = options.workspace or Path(file_name(name))
    directory = directory.absolute()  # a name that a C compiler takes for no option
    try:
        directory.mkdir(parents=True, exist_ok=True)
        check_own(directory)
    except OSError:  # a working directory that cannot be written, or where others have been before
        return _temporary(directory)
    _taken_instead.pop(directory, None)
    return directory


def workspace_of(name: str, directory: Path | None) -> Path:
    """Which folder that is, made or not, in this directory or the one that we are in."""
    wanted = (directory or Path.cwd()) / file_name(name)
    return _taken_instead.get(wanted, wanted)


def _temporary(directory: Path) -> Path:
    """One for all that would have gone there, so that it is found together."""
    taken = _taken_instead.get(directory)
    if taken is None or not taken.is_dir():
        taken = _taken_instead[directory] = temporary_folder(f"diastase-{directory.name}-")
    return taken


def write_failure(
    name: str, options: CompileOptions, file: str, content: Callable[[Path], bytes]
) -> Path:
    """Write a reproducer, and return where: nowhere, on a full disk, as the error matters more.

    Into the folder where IR is kept, if any is, else a temporary one: nobody asked for a folder in
    the working directory, and the error says where the file is.
    """
    try:
        if options.workspace is not None or options.keep_intermediate != "none":
            folder = workspace(name, options)
        else:
            folder = temporary_folder(f"diastase-{file_name(name)}-")
        path = folder / file
        path.write_bytes(content(path))
    except OSError:
        return Path(os.devnull)
    return path


@dataclass(frozen=True)
class Compilation:
    """A program in machine code, and how it came about."""

    artifact: Artifact
    from_cache: bool
    timings: Mapping[str, float]
    """Seconds per named stage, in order."""
