"""`instrumentation`: what the steps of making and running programs take, as text.

In: a block of the user's. Out: a line for each step, on the standard error as it ends; or all of
them in a YAML file, to which each block is appended. Steps are named as Catalyst names them.

The trap: a program that is in the cache, in memory or on disk, is not made again, so its steps are
fewer. `DIASTASE_CACHE=0` shows all of them.
"""

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from diastase.debugging.profiling import alone
from diastase.jit.options.errors import InvalidOptionError
from diastase_mlir.diagnostics import user_span
from diastase_runtime import Executable, observe
from diastase_toolchain.steps import Step, step, watch_steps

_PLAIN = re.compile(r"[A-Za-z][\w .-]*")
"""What YAML takes for a string as it stands."""


@contextmanager
def instrumentation(
    session_name: str, filename: str | os.PathLike[str] | None = None, detailed: bool = False
) -> Generator[None]:
    """Report wall time, processor time and program size of each step in a `with` block.

    Steps are `capture` (the size is that of the jaxpr), `generate_ir` (MLIR), `compile` (LLVM IR)
    and `run` (compiled code alone, callbacks included); of what is found in a cache there are
    fewer. Sessions measure the whole process, so there is one at a time, and none in
    `diastase.profile()`.

    Args:
        session_name: the title in the file.
        filename: a YAML file, to which each session is appended, times in milliseconds. Without it,
            lines go to the standard error.
        detailed: adds the stages of the compilation.

    Yields:
        Nothing.

    Raises:
        NestedProfileError: a `RuntimeError`, while another session, or `diastase.profile`,
            measures.
        OSError: if the file cannot be written.

    Example:
        >>> from pathlib import Path
        >>> from diastase import debug, qjit
        >>> with debug.instrumentation("session", filename="times.yml"):
        ...     _ = qjit(lambda x: x + 1)(1.0)
        >>> "walltime" in Path("times.yml").read_text()
        True

    """
    file = _file(filename)
    with alone():
        session = _Session(file, detailed)
        try:
            watch_steps(session.tell)
            observe(session)
            yield
        finally:
            observe(None)
            watch_steps(None)
            session.write(str(session_name))


def _file(name: Any) -> Path | None:
    """The file to write to, which can be written: it is better to fail now than at the end."""
    if name is None:
        return None
    if not isinstance(name, str | os.PathLike):
        raise InvalidOptionError(
            option="filename",
            value=repr(name),
            allowed="the path of a file, or None",
            span=user_span(),
        )
    Path(name).open("a").close()
    return Path(name)


@dataclass
class _Session:
    """What has been told so far; an observer of programs that run."""

    file: Path | None
    detailed: bool
    results: list[tuple[Step, int | None, Sequence["_Part"]]] = field(default_factory=list)
    parts: list["_Part"] = field(default_factory=list)
    """Of the step that is being made, by any thread: compiling has one of its own."""

    def tell(self, made: Step) -> None:
        """Take in a step that has ended."""
        if made.part and not self.detailed:
            return
        size = None if made.size is None else made.size()
        if self.file is None:
            print(_line(made, size, self.detailed), file=sys.stderr)
        elif made.part:
            self.parts.append((made, size))
        else:
            self.results.append((made, size, self.parts))
            self.parts = []

    def entry(self, program: Executable, native: Callable[..., None]) -> Callable[..., None]:
        """Return the entry of a program, as a step."""

        def run(pointers: Any) -> None:
            with step("run"):
                native(pointers)

        return run

    def callback(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Callbacks belong to the program that calls them."""
        return function

    def loaded(self) -> None:
        """Nothing more is told of a program that was loaded."""

    def write(self, name: str) -> None:
        """Append all to the file, if there is one."""
        if self.file is None:
            return
        lines = [
            f"{datetime.now()}:",
            f"  name: {name if _PLAIN.fullmatch(name) else json.dumps(name)}",
            "  system:",
            f"    os: {platform.platform()}",
            f"    arch: {platform.machine()}",
            f"    python: {platform.python_version()}",
            "  results:",
        ]
        for made, size, parts in self.results:
            lines += _entry(made, size, " " * 4)
            if parts:
                lines.append(" " * 8 + "finegrained:")
            for part, part_size in parts:
                lines += _entry(part, part_size, " " * 10)
        with self.file.open("a") as file:
            file.write("\n".join([*lines, "", ""]))


_Part = tuple[Step, int | None]


def _line(made: Step, size: int | None, detailed: bool) -> str:
    head = "> Total" if detailed and not made.part else "Running"
    times = f"walltime: {_ms(made.seconds)} ms\tcputime: {_ms(made.processor_seconds)} ms"
    lines = "" if size is None else f"\tprogramsize: {size} lines"
    return f"[DIAGNOSTICS] {head} {made.name:<22}\t{times}{lines}"


def _entry(made: Step, size: int | None, indent: str) -> list[str]:
    inner = indent + " " * 4
    lines = [
        f"{indent}- {made.name}:",
        f"{inner}walltime: {_ms(made.seconds)}",
        f"{inner}cputime: {_ms(made.processor_seconds)}",
    ]
    return lines if size is None else [*lines, f"{inner}programsize: {size}"]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3f}"
