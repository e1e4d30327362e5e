"""What a process uses: memory, descriptors, threads, mappings, files in its temporary folder."""

import ctypes
import gc
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import jax

PROCESS = Path("/proc/self")


class MallocInformation(ctypes.Structure):
    """`struct mallinfo2` of glibc 2.33."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


def allocated() -> int | None:
    """Bytes that malloc has handed out, large mapped blocks included; None where nobody says it."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return None
    libc.mallinfo2.restype = MallocInformation
    information = libc.mallinfo2()
    return information.uordblks + information.hblkhd


def resident() -> int:
    """Bytes of memory that this process has; exact, while `statm` lags by some pages a thread."""
    text = (PROCESS / "smaps_rollup").read_text()
    found = re.search(r"^Rss:\s+(\d+) kB", text, re.M)
    assert found is not None
    return int(found[1]) * 1024


def temporary_files() -> int:
    """How many files and folders there are in the temporary folder."""
    return sum(len(files) + len(folders) for _, folders, files in os.walk(tempfile.gettempdir()))


@dataclass(frozen=True)
class Measures:
    """At one moment, of this process."""

    calls: int
    resident: int
    allocated: int
    descriptors: int
    threads: int
    mappings: int
    files: int

    @staticmethod
    def now(calls: int, without_caches: bool = False) -> "Measures":
        """After so many calls, without what a collection of garbage frees, and JAX's caches."""
        if without_caches:
            jax.clear_caches()
        gc.collect()
        return Measures(
            calls,
            resident(),
            allocated() or 0,
            len(os.listdir(PROCESS / "fd")),
            len(os.listdir(PROCESS / "task")),
            (PROCESS / "maps").read_bytes().count(b"\n"),
            temporary_files(),
        )
