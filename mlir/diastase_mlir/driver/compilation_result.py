"""What compiling gives."""

from collections.abc import Mapping
from dataclasses import dataclass

from diastase_runtime.abi import Artifact


@dataclass(frozen=True)
class Compilation:
    """A program in machine code, and how it came about."""

    artifact: Artifact
    from_cache: bool
    timings: Mapping[str, float]
    """Seconds per named stage, in order."""
