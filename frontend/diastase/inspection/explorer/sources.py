"""The user's own text, as far as lines of the program come from it.

In: the lines that anything comes from. Out: rows: a heading for each file, its statements that
have such lines in them, whole, and in place of the others how many lines they are. A line of a
file that cannot be read is there with its number.

The trap: what is in a file now need not be what was run. Of the file that the function is from, its
text is compiled (nothing is run) and compared with the function's own code.
"""

import __future__

import ast
import functools
import inspect
import linecache
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from diastase_mlir.diagnostics import is_user_file

_AROUND = 20
"""Lines that are shown around one, of a text that is not Python's."""
_FUTURES = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
"""Flags of code that say how it was compiled."""
_LONGEST = 2000
"""Characters of a line that are shown."""


@dataclass(frozen=True)
class Row:
    """A line of the column of sources; `line` is 0 where it is none of a file."""

    text: str
    file: str
    line: int = 0


def rows_of(lines: Iterable[tuple[str, int]], function: Callable[..., Any]) -> Iterator[Row]:
    """Everything that is shown, in order: the file of the function comes first."""
    by_file: dict[str, set[int]] = {}
    code = code_of(function)
    if code is not None:
        by_file[code.co_filename] = set()
    for file, line in lines:
        by_file.setdefault(file, set()).add(line)
    for file, wanted in by_file.items():
        text = linecache.getlines(file)
        is_own = code is not None and file == code.co_filename
        if not wanted and not (is_own and text):
            continue
        if is_own and code is not None:
            wanted = wanted | {code.co_firstlineno}
        yield Row(_heading(file, text, code if is_own else None), file)
        yield from _rows_of_file(file, text, wanted)


def _heading(file: str, text: Sequence[str], code: CodeType | None) -> str:
    name = " ".join(file.splitlines())
    if not text:
        return f"{name} (cannot be read: only the numbers of its lines are known)"
    if code is None:
        return name
    codes = _codes_in("".join(text), file, code.co_flags & _FUTURES)
    if codes is None:
        return f"{name} (is not Python: these may not be the lines that were compiled)"
    if code not in codes:
        return f"{name} (has changed since: these may not be the lines that were compiled)"
    return name


def _rows_of_file(file: str, text: Sequence[str], wanted: set[int]) -> Iterator[Row]:
    shown = sorted(_statements_with("".join(text), wanted, len(text)) | wanted)
    last = 0
    for line in shown:
        if line > last + 1 and text:
            yield Row(f"⋯ {_counted(line - last - 1)}", file)
        written = text[line - 1].rstrip("\r\n") if line <= len(text) else ""
        yield Row(_within(written), file, line)
        last = line
    if last < len(text):
        yield Row(f"⋯ {_counted(len(text) - last)}", file)


def _within(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} … {len(line):,} characters"


def _counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _statements_with(text: str, wanted: set[int], length: int) -> set[int]:
    """The lines of all statements of a module, with their decorators, that have one of these."""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError):  # a cell of a notebook with a magic, say
        around = (range(line - _AROUND, line + _AROUND + 1) for line in wanted)
        return {line for lines in around for line in lines if 1 <= line <= length}
    found: set[int] = set()
    for statement in statements:
        decorators = [each.lineno for each in getattr(statement, "decorator_list", ())]
        lines = range(
            min([statement.lineno, *decorators]), (statement.end_lineno or statement.lineno) + 1
        )
        if not wanted.isdisjoint(lines):
            found.update(lines)
    return found


def code_of(function: Any) -> CodeType | None:
    """The code that the user wrote for a function; None where it is not written in Python.

    Nor is it the user's where it is a library's, say that of a wrapper.
    """
    for _ in range(100):  # of wrappers around each other
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        if inner is None and not hasattr(function, "__code__"):
            method = inspect.getattr_static(type(function), "__call__", None)
            inner = getattr(function, "__func__", method)
        if inner is None or inner is function:
            break
        function = inner
    found = getattr(function, "__code__", None)
    is_own = isinstance(found, CodeType) and is_user_file(found.co_filename)
    return found if is_own else None


@functools.lru_cache(8)
def _codes_in(text: str, file: str, flags: int) -> frozenset[CodeType] | None:
    """All code that a text has, nested code, too; None where it is no Python.

    A cell of a notebook is compiled with the `from __future__ import` of those before it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waiting = [compile(text, file, "exec", flags, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return None
    found: set[CodeType] = set()
    while waiting:
        code = waiting.pop()
        found.add(code)
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(found)
