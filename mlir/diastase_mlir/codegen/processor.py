"""The processor of the computer, as LLVM describes it: what machine code is made for.

LLVM's bindings take a while to load, and a program that is found in the cache needs nothing else of
them. So their answer is kept in the cache's directory, under what the system says of the processor
and under the version of the bindings; it is only believed if it was written for both.
"""

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from diastase_mlir.sources import write_note

_PROCESSORS = Path("/proc/cpuinfo")
_CHANGING = ("cpu MHz", "bogomips", "BogoMIPS", "processor", "core id", "apicid", "initial apicid")
"""Lines of the system's description that differ between equal processors, or from time to time."""


@dataclass(frozen=True)
class HostProcessor:
    """What machine code is made for; part of every cache key."""

    triple: str
    name: str
    features: str


@cache
def llvmlite_version() -> str:
    """The version of LLVM's bindings."""
    return version("llvmlite")


def asked_processor() -> HostProcessor:
    """Ask LLVM for this computer's processor."""
    llvm: Any = import_module("llvmlite.binding")
    features = llvm.get_host_cpu_features().flatten(sort=True)
    return HostProcessor(llvm.get_default_triple(), llvm.get_host_cpu_name(), features)


def known_processor(directory: Path | None) -> HostProcessor:
    """The same, from a note in this directory if there is one."""
    description = _description()
    if directory is None or description is None:
        return asked_processor()
    note = directory / f"processor-{description}.json"
    try:
        return HostProcessor(**json.loads(note.read_text()))
    except (OSError, ValueError, TypeError):
        processor = asked_processor()
        write_note(note, json.dumps(asdict(processor)))
        return processor


def _description() -> str | None:
    """Hash of what Linux says of the first processor; None where it does not say enough."""
    try:
        with _PROCESSORS.open() as file:
            lines = list(_first_paragraph(file))
    except OSError:
        return None
    if not any(line.startswith(("flags", "Features")) for line in lines):
        return None
    parts = [*lines, platform.machine(), platform.release(), llvmlite_version()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _first_paragraph(lines: Iterable[str]) -> Iterator[str]:
    """The lines before the first empty one, but those that change."""
    for line in lines:
        if not line.strip():
            return
        if line.split(":")[0].strip() not in _CHANGING:
            yield line
