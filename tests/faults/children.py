"""A case of a fault, in a forked process of its own; and what that process left.

In: a program, and a way to provoke a fault. The process that forks has imported everything and run
nothing, so each child is a process that has just begun, without the seconds that importing takes.
Out: an `Outcome`, with what the process said and what its folder shows when it has ended.
"""

import atexit
import fcntl
import gc
import json
import os
import re
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from diastase_runtime.errors import DiastaseError
from diastase_toolchain.cache import ProgramCache
from faults.programs import Program

PATIENCE = 600.0
"""Seconds for a process that does not hang: it may have to build an engine on a loaded machine."""

_OF_A_PROGRAM = re.compile("[0-9a-f]{40}")

Strikes = Callable[[], tuple[int, str]]
Provocation = Callable[[Path], AbstractContextManager[Strikes]]
"""Provokes a fault in the process that it is called in, whose folder is given."""


@dataclass
class Outcome:
    """What became of a program that a fault befell."""

    result: str = ""
    """`right`, `wrong`, the name of an error, a signal, or `hangs`."""
    is_ours: bool = False
    """Whether it is right or an error of ours."""
    message: str = ""
    struck: int = 0
    where: str = ""
    again: str = ""
    """The same of the next call in that process, when the fault is over."""
    warned: list[str] = field(default_factory=list)
    descriptors: list[str] = field(default_factory=list)
    """Open files that were not open before."""
    left: list[str] = field(default_factory=list)
    """Files, locks and processes that are there when the process has ended, and are not removed by
    the next one that compiles something an hour later."""
    later: str = ""
    """What the same program is in another process afterwards, with the same cache."""
    broken: list[str] = field(default_factory=list)
    """Entries of the cache that are not whole."""

    @property
    def faults(self) -> list[str]:
        """What is not as it has to be."""
        wrong = [] if self.is_ours else [f"{self.result}: {self.message}"]
        wrong += [f"afterwards {self.again}"] if self.again not in ("", "right") else []
        wrong += [f"in another process {self.later}"] if self.later not in ("", "right") else []
        kinds = (("open", self.descriptors), ("left", self.left), ("broken", self.broken))
        return wrong + [f"{kind}: {name}" for kind, names in kinds for name in names]


def prepared(folder: Path, libraries: Path, program: Program) -> Path:
    """Make a case's folder: an empty cache, but for libraries that the program finds there."""
    shutil.rmtree(folder, ignore_errors=True)
    programs = folder / "cache" / "programs"
    programs.mkdir(mode=0o700, parents=True)
    (folder / "cache").chmod(0o700)
    (folder / "tmp").mkdir()
    for note in libraries.glob("*-*"):
        shutil.copy2(note, folder / "cache")
    for file in (libraries / "programs").glob("*-*"):
        if not (_OF_A_PROGRAM.match(file.name) or file.name.startswith(program.libraries)):
            shutil.copy2(file, programs)
    return folder


def run(
    folder: Path, program: Program, provoke: Provocation, patience: float = PATIENCE
) -> Outcome:
    """Compile and call a program in a process that a fault befalls."""
    child, answers = begin(folder, program, provoke)
    return end(folder, child, answers, patience)


def begin(folder: Path, program: Program, provoke: Provocation) -> tuple[int, int]:
    """Start such a process; its number, and a pipe with what it says."""
    read, write = os.pipe()
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns of forks: nothing of it runs here
        child = os.fork()
    if child:
        os.close(write)
        return child, read
    try:
        os.close(read)
        os.setpgid(0, 0)
        os.environ["DIASTASE_CACHE_DIR"] = str(folder / "cache")
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
        outcome = _outcome(folder, program, provoke)
        os.write(write, json.dumps(vars(outcome)).encode())
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def end(folder: Path, child: int, answers: int, patience: float = PATIENCE) -> Outcome:
    """Wait for it, and look at what it has left."""
    until, text = time.monotonic() + patience, b""
    while select.select([answers], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(answers, 1 << 16)
        if not part:
            break
        text += part
    else:
        os.kill(child, signal.SIGKILL)
    os.close(answers)
    _, status = os.waitpid(child, 0)
    if text:
        outcome = Outcome(**json.loads(text))
    else:
        hangs = time.monotonic() >= until
        code = os.waitstatus_to_exitcode(status)
        outcome = Outcome("hangs" if hangs else f"signal {-code}" if code < 0 else "no answer")
    inspect(outcome, folder)
    return outcome


def inspect(outcome: Outcome, folder: Path) -> None:
    """Look at what is in the folder of a case."""
    outcome.left = list(left(folder))
    outcome.broken = list(_broken(folder / "cache" / "programs"))


def _outcome(folder: Path, program: Program, provoke: Provocation) -> Outcome:
    call = program.compiled()
    before = _descriptors(folder)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with provoke(folder) as strikes:
            outcome = _of_call(call)
            outcome.struck, outcome.where = strikes()
        outcome.again = _of_call(call).result
    outcome.warned = [str(warning.message) for warning in warned]
    gc.collect()
    outcome.descriptors = sorted(_descriptors(folder) - before)
    return outcome


def _of_call(call: Callable[[], bool]) -> Outcome:
    try:
        right = call()
        return Outcome("right" if right else "wrong", right)
    except DiastaseError as error:
        return Outcome(type(error).__name__, True, str(error))
    except BaseException as error:
        return Outcome(type(error).__name__, False, f"{error}\n{traceback.format_exc()[-900:]}")


def _descriptors(folder: Path) -> set[str]:
    """Open files of the case, pipes, and what else is no library."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(link)
        except FileNotFoundError:  # that of the folder itself
            continue
        if str(folder) in target or target.startswith("pipe:"):
            found.add(target)
    return found


def left(folder: Path) -> Iterator[str]:
    cache = folder / "cache"
    for place in (folder / "tmp", cache / "programs" / "building"):
        if place.is_dir():
            yield from (f"{place.name}/{entry.name}" for entry in place.iterdir())
    yield from (entry.name for entry in cache.glob("tmp*"))
    if (cache / "programs").is_dir() and _is_locked(cache / "programs"):
        yield "a lock of the cache"
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = process.read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in command:
            yield f"process {process.parent.name}"


def _is_locked(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _broken(programs: Path) -> Iterator[str]:
    """Entries that another process would refuse."""
    cache = ProgramCache(programs)
    for record in programs.glob("*.json"):
        try:
            cache._read(record)
        except Exception as error:
            yield f"{record.name}: {error!r}"


def unnamed_libraries(programs: Path) -> list[str]:
    """Libraries that no entry leads to."""
    records = "".join(record.read_text() for record in programs.glob("*.json"))
    return [library.name for library in programs.glob("*.so") if library.name not in records]
