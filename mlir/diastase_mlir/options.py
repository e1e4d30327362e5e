"""Options of one compilation, as given to `qjit`; part of the cache key."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class CompileOptions:
    """What the user asked of the compiler."""

    keep_intermediate: Literal["none", "stage", "changed", "pass"] = "none"
    """Write the IR after each stage, each pass that changes it, or each pass, into `workspace`."""
    workspace: Path | None = None
    """Where intermediate IR and reproducers go; by default the working directory's `<name>/`, and a
    temporary folder."""
    pipelines: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    """Stages with names of passes, in the place of `PIPELINE`."""
    use_nameloc: bool = False
    """Name the function's arguments in the IR as the user does."""
    use_cache: bool = True
    """Look the program up in the disk cache and store it there."""
