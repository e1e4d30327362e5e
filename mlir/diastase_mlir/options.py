"""Options of one compilation, as given to `qjit`; part of the cache key."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class CompileOptions:
    """What the user asked of the compiler."""

    keep_intermediate: Literal["none", "stage", "pass"] = "none"
    """Write the IR after each stage, or after each pass, into `workspace`."""
    workspace: Path | None = None
    """Where intermediate IR and reproducers go; the working directory's `<name>/` by default."""
    use_cache: bool = True
    """Look the program up in the disk cache and store it there."""
