"""The checked build: what `DIASTASE_CHECKED` asks for, read once, and part of every cache key.

`bounds`: programs check every index and every slice against the sizes of its array, and raise.
`address`: these checks, and each access to memory of a program or a kernel is one of
AddressSanitizer's, with its alignment. `threads`: each is one of ThreadSanitizer's, which finds
accesses of two threads that nothing orders. GCC's libraries of the two must be in the process
before anything else is, as they replace `malloc`: a process that has not is refused.
"""

import ctypes
import os
from functools import cache
from typing import Literal

from diastase_toolchain.errors import CheckedBuildError

VARIABLE = "DIASTASE_CHECKED"
Checks = Literal["", "bounds", "address", "threads"]
_CHECKS: tuple[Checks, ...] = ("", "bounds", "address", "threads")

_LIBRARIES: dict[str, tuple[str, str]] = {
    "address": ("libasan.so", "__asan_loadN"),
    "threads": ("libtsan.so", "__tsan_read_range"),
}
"""For what accesses call another library: its name, and a function that it has."""
SANITIZERS = ("__asan_", "__tsan_")
"""How the names of its functions begin."""


@cache
def checks() -> Checks:
    """What is checked in this process."""
    asked = os.environ.get(VARIABLE, "").strip()
    found: Checks | None = next((one for one in _CHECKS if one == asked), None)
    if found is None:
        reason = f"which is none of {', '.join(_CHECKS[1:])}"
        raise CheckedBuildError(variable=VARIABLE, value=asked, reason=reason)
    library, function = _LIBRARIES.get(found, ("", ""))
    if library and not hasattr(ctypes.CDLL(None), function):
        reason = f"and this process was started without {library}"
        raise CheckedBuildError(variable=VARIABLE, value=asked, reason=reason)
    return found


def calls_sanitizers() -> bool:
    """Whether machine code calls a sanitizer's library."""
    return checks() in _LIBRARIES
