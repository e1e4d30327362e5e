"""The processor that machine code is made for: this computer's, as LLVM describes it.

`DIASTASE_TARGET_CPU` names a level of x86-64 instead, for a cache that several computers share or
that is filled where a container is built, and for tests: one that this computer has, too.

LLVM's bindings take a while to load, and a program that is found in the cache needs nothing else of
them. So their answer is kept in the cache's directory, under what the system says of the processor
and under the version of the bindings; it is only believed if it was written for both.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from diastase_toolchain.errors import TargetProcessorError
from diastase_toolchain.source_hash import read_note, write_note

VARIABLE = "DIASTASE_TARGET_CPU"

_V2 = "+cx16,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3"
_V3 = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
LEVELS = {
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": f"{_V3},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl",
}
"""What the processors of a level have, as the ABI of x86-64 defines it."""

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
    """Ask LLVM for this computer's processor; or take the level that the environment names."""
    llvm: Any = import_module("llvmlite.binding")
    features = llvm.get_host_cpu_features().flatten(sort=True)
    triple, level = llvm.get_default_triple(), os.environ.get(VARIABLE, "").strip()
    if not level:
        return HostProcessor(triple, llvm.get_host_cpu_name(), features)
    return HostProcessor(triple, level, _features_of(level, features))


def _features_of(level: str, available: str) -> str:
    """What a level has; raises where that is not known, or more than what there is."""
    if level not in LEVELS:
        reason = f"which is none of {', '.join(LEVELS)}"
        raise TargetProcessorError(variable=VARIABLE, level=level, reason=reason)
    missing = [name for name in LEVELS[level].split(",") if name not in available.split(",")]
    if missing:
        reason = f"and this computer has no {missing[0][1:]}"
        raise TargetProcessorError(variable=VARIABLE, level=level, reason=reason)
    return LEVELS[level]


def known_processor(directory: Path | None) -> HostProcessor:
    """The same, from a note in this directory if there is one."""
    description = None if os.environ.get(VARIABLE) else _description()
    if directory is None or description is None:
        return asked_processor()
    note = directory / f"processor-{description}.json"
    try:
        return HostProcessor(**json.loads(read_note(note) or ""))
    except (ValueError, TypeError, RecursionError):  # there is none, or none of this version
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
