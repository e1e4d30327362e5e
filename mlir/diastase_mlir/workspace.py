"""The folders into which one program's intermediate IR and reproducers are written."""

import re
import tempfile
from pathlib import Path

from diastase_mlir.options import CompileOptions


def file_name(name: str) -> str:
    """Make a name of a program, a stage or a pass fit for a file."""
    return re.sub(r"[^\w.-]+", "_", name).strip("_.")[:60] or "program"


def workspace(name: str, options: CompileOptions) -> Path:
    """Make the folder: the one asked for, else `<name>/` here, else a temporary one."""
    if options.workspace is not None:
        options.workspace.mkdir(parents=True, exist_ok=True)
        return options.workspace
    directory = Path.cwd() / file_name(name)
    try:
        directory.mkdir(exist_ok=True)
    except OSError:  # a working directory that cannot be written
        return Path(tempfile.mkdtemp(prefix=f"diastase-{file_name(name)}-"))
    return directory


def failure_folder(name: str, options: CompileOptions) -> Path:
    """Make the folder for a reproducer: the one where IR is kept, if any is, else a temporary one.

    Nobody asked for a folder in the working directory: the error says where the file is.
    """
    if options.workspace is not None or options.keep_intermediate != "none":
        return workspace(name, options)
    return Path(tempfile.mkdtemp(prefix=f"diastase-{file_name(name)}-"))
