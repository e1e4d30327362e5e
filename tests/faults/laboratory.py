"""Cases of faults, one after the other, each in a fresh folder; and what comes after each.

After a fault, another process has to give the right result with the same cache, and what the killed
or the unlucky have left in it has to be gone an hour later.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from diastase_toolchain.cache import cache_directory
from faults.children import Outcome, Provocation, Strikes, left, prepared, run, unnamed_libraries
from faults.injector import Fault
from faults.programs import PROGRAMS

_AGES = 7200.0
"""Seconds; more than after which the cache takes a folder for abandoned."""


@contextmanager
def nothing(folder: Path) -> Iterator[Strikes]:
    """Provoke nothing."""
    yield lambda: (0, "")


class Laboratory:
    """Where cases take place: a folder, and a cache that has all libraries of ours."""

    def __init__(self, folder: Path) -> None:
        directory = cache_directory()
        assert directory is not None, "the libraries are in the cache, which is off"
        self.folder, self.libraries = folder, directory
        self._seen: set[str] = set()
        """What cases have left, of which one of each kind is looked at again."""

    def prepare(self, names: Iterator[str] | tuple[str, ...]) -> None:
        """Have the libraries built that these programs call."""
        (self.folder / "tmp").mkdir(parents=True, exist_ok=True)
        link = self.folder / "cache"
        link.symlink_to(self.libraries)
        for name in names:
            outcome = run(self.folder, PROGRAMS[name], nothing, patience=600)
            assert outcome.result == "right", f"{name}, without a fault: {outcome}"
        link.unlink()

    def case(self, name: str, provoke: Provocation, *, known: bool = False) -> Outcome:
        """Let a fault befall a program, which the cache may know."""
        program = PROGRAMS[name]
        folder = self.fresh(name, known=known)
        outcome = run(folder, program, provoke)
        self.afterwards(outcome, name)
        return outcome

    def fresh(self, name: str, *, known: bool = False) -> Path:
        """Make the folder of a case."""
        folder, program = self.folder / "case", PROGRAMS[name]
        filled = self.folder / f"known-{name}"
        if not known:
            return prepared(folder, self.libraries, program)
        if not filled.exists():
            run(prepared(folder, self.libraries, program), program, nothing)
            shutil.copytree(folder, filled)
        shutil.rmtree(folder)
        return Path(shutil.copytree(filled, folder))

    def afterwards(self, outcome: Outcome, name: str) -> None:
        """Run the program without a fault, and let an hour go by."""
        folder, program = self.folder / "case", PROGRAMS[name]
        state = f"{name} {outcome.faults} {_signature(folder)}"
        if state in self._seen:
            return
        self._seen.add(state)
        second = run(folder, program, nothing)
        refused = [warning for warning in second.warned if "corrupted" in warning]
        outcome.later = "; ".join([second.message or second.result, *refused])
        unnamed = unnamed_libraries(folder / "cache" / "programs")
        outcome.left += [f"a library without an entry: {name}" for name in unnamed]
        if outcome.left:
            _let_time_go_by(folder)
            another = "python" if name == "arrays" else "arrays"
            run(folder, PROGRAMS[another], nothing)
            still = {*left(folder), *(entry for entry in outcome.left if "without" in entry)}
            outcome.left = [entry for entry in outcome.left if entry in still]

    def each(
        self, name: str, fault: Callable[[int], Fault], *, known: bool = False, step: int = 1
    ) -> Iterator[Outcome]:
        """Let the first call fail, then the second and so on, until none is left that could."""
        number = 1
        while True:
            outcome = self.case(name, _provoked(fault(number)), known=known)
            yield outcome
            if not outcome.struck:
                return
            number += step


def _signature(folder: Path) -> str:
    """Which files there are, but for the names of temporary ones."""
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    return re.sub(r"tmp\w{8}", "tmp", " ".join(names))


def _provoked(fault: Fault) -> Provocation:
    return fault.armed


def _let_time_go_by(folder: Path) -> None:
    before = time.time() - _AGES
    for entry in folder.rglob("*"):
        os.utime(entry, (before, before), follow_symlinks=False)


def remove(folder: Path) -> None:
    """Remove a laboratory's folder."""
    shutil.rmtree(folder, ignore_errors=True)
