"""Whose line is it: from stacks, JAX source info and MLIR locations to a `Span` of the user's.

A frame belongs to the user unless its file lies in the standard library, in an installed package
or in one of our own packages (which an editable install keeps outside of `site-packages`). Line
numbers come from code objects alone, so nothing here needs JAX's private source-info module.
"""

import re
import sys
import sysconfig
from bisect import bisect_right
from collections.abc import Generator, Iterator, Set
from contextlib import contextmanager
from functools import cache, lru_cache
from types import CodeType, FrameType
from typing import Any

from diastase_runtime.errors import DiastaseError, Span
from diastase_toolchain.source_hash import folders_of

_PLACE = re.compile(r'(?:"(?P<function>[^"]*)"\()?"(?P<file>[^"]+)":(?P<line>\d+):\d+')
_SPELT = re.compile(rb"\\(?:([0-9A-F]{2})|\\)")
OUR_PACKAGES = (
    "diastase",
    "diastase_mlir",
    "diastase_engine",
    "diastase_toolchain",
    "diastase_runtime",
)
_IN_PLACE_OF_JAX = ("/diastase_mlir/jax_compat/", "/diastase/capture/jax_overlays/")


@cache
def _internal_directories() -> tuple[str, ...]:
    """Directories, each with a trailing separator, none of whose code is the user's."""
    paths = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    packages = directories_of(*OUR_PACKAGES, "jax", "jaxlib", "pennylane")
    return tuple({path.rstrip("/") + "/" for path in paths if path} | set(packages))


@cache
def directories_of(*packages: str) -> tuple[str, ...]:
    """Directories of packages, found by name: this layer must not import the frontend."""
    return tuple(path.rstrip("/") + "/" for path in folders_of(*packages))


@cache
def is_user_file(file: str) -> bool:
    """Whether code in this file is the user's (a notebook cell or `<string>` is; `-` is MLIR's)."""
    return file != "-" and not file.startswith(("<frozen ", *_internal_directories()))


@cache
def is_of_a_library(file: str | None) -> bool:
    """Whether code in this file is another package's, or ours that stands in for JAX's."""
    if file is None or is_user_file(file):
        return False
    is_ours = file.startswith(directories_of(*OUR_PACKAGES))
    return not is_ours or any(folder in file for folder in _IN_PLACE_OF_JAX)


def user_span(skip_internal: bool = True) -> Span | None:
    """Find the innermost line on the current stack that is the user's.

    With `skip_internal=False`: the line of the caller's caller, whoever wrote it.
    """
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    if not skip_internal:
        frame = frame.f_back
    while frame is not None and skip_internal and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    return Span(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)


def in_mlir(name: str) -> str:
    """A name of a file or function for a location: MLIR takes UTF-8, which not all names are."""
    return name.encode("utf8", "backslashreplace").decode()


def stack_level_of_user() -> int:
    """How far up the stack of our caller the user's line is: the `stacklevel` of a warning."""
    level = 1
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level


def called_function(names: Set[str]) -> str | None:
    """Find which of the functions of these names the user has called, on the current stack."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    called = None
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        name = frame.f_code.co_name.lstrip("_")  # a method `max` is a function `_max`
        called = name if name in names else called
        frame = frame.f_back
    return called


def span_of(source_info: Any) -> Span | None:
    """Find the user's line in the `source_info` of a jaxpr equation, if it has one."""
    traceback = getattr(source_info, "traceback", None)
    return None if traceback is None else span_of_traceback(traceback)


@lru_cache(1024)  # equal for all equations that a line makes by the same calls
def span_of_traceback(traceback: Any) -> Span | None:
    """Find the user's line in a traceback of JAX's."""
    for code, instruction in zip(*traceback.raw_frames(), strict=True):
        if is_user_file(code.co_filename):
            line = _line_of(code, instruction)
            return Span(code.co_filename, line, code.co_qualname)
    return None


def span_at(location: str) -> Span | None:
    """Find the user's line in the text of an MLIR location; callers stand after callees."""
    return next(spans_at(location), None)


def spans_at(location: str) -> Iterator[Span]:
    """Find all lines of the user's in it: that of what several operations became has several."""
    for match in _PLACE.finditer(location):
        file = _as_written(match["file"])
        if is_user_file(file):
            yield Span(file, int(match["line"]), _as_written(match["function"] or ""))


def _as_written(name: str) -> str:
    """A name as it was before MLIR printed it, which spells some bytes in hexadecimal."""
    if "\\" not in name:
        return name
    spelt = _SPELT.sub(lambda byte: bytes([int(byte[1], 16)]) if byte[1] else b"\\", name.encode())
    return spelt.decode(errors="replace")


_MOST_TABLES = 256
_tables: dict[int, tuple[CodeType, list[int], list[int | None]]] = {}
"""Of code objects, by identity (their hash goes through all of their constants): where the
instructions of a line begin, and the lines."""


def _line_of(code: CodeType, instruction: int) -> int:
    """Line of the instruction at this byte offset of a code object."""
    known = _tables.get(id(code))
    if known is None or known[0] is not code:
        if len(_tables) >= _MOST_TABLES:
            _tables.clear()
        parts = [*code.co_lines()]
        known = (code, [start for start, _, _ in parts], [line for _, _, line in parts])
        _tables[id(code)] = known
    _, starts, lines = known
    return lines[bisect_right(starts, instruction) - 1] or code.co_firstlineno


@contextmanager
def at(span: Span | None) -> Generator[None]:
    """Any error of ours raised inside and not yet placed is placed at `span`."""
    try:
        yield
    except DiastaseError as error:
        if error.span is None:
            error.span = span
        raise
