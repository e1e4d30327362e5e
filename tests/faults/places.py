"""The table of places: where faults come, how they are provoked, which errors of ours may follow.

The right result is accepted everywhere, and nothing but it where no error is named. A place gives
the outcomes of its cases; the shortest of them are the suite's.
"""

import resource
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from faults import provocations as by
from faults.children import Outcome, Provocation
from faults.injector import ALWAYS, Fault
from faults.laboratory import Laboratory
from faults.processes import at_once, killed

BUILDS = ("LinkError", "UnsafeCacheDirectoryError", "LibraryLoadError")
"""What is said where a library cannot be made, or read afterwards."""
LOADS = ("LibraryLoadError",)
MEMORY = ("OutOfMemoryError",)
KILLED = ("signal 9", "no answer")


@dataclass(frozen=True)
class Place:
    """Where a fault comes."""

    name: str
    programs: tuple[str, ...]
    cases: Callable[[Laboratory, str], Iterable[Outcome]]
    accepted: tuple[str, ...] = ()

    def outcomes(self, laboratory: Laboratory) -> Iterator[Outcome]:
        """Let all its cases take place."""
        for program in self.programs:
            yield from self.cases(laboratory, program)


def _each(name: str, programs: str, kind: str, error: str, **more: object) -> Place:
    """Of all calls of a kind, each one once; with `always`, it and all after it."""
    known, step = bool(more.get("known")), int(str(more.get("step", 1)))
    times = ALWAYS if more.get("always") else 1
    accepted = more.get("accepted", BUILDS)
    assert isinstance(accepted, tuple)

    def cases(laboratory: Laboratory, program: str) -> Iterator[Outcome]:
        def fault(number: int) -> Fault:
            return Fault(kind, error, number, times)

        yield from laboratory.each(program, fault, known=known, step=step)

    return Place(name, tuple(programs.split()), cases, accepted)


def _one(
    name: str,
    provoke: Provocation,
    accepted: tuple[str, ...] = (),
    programs: str = "arrays",
    known: bool = False,
) -> Place:
    def cases(laboratory: Laboratory, program: str) -> Iterator[Outcome]:
        yield laboratory.case(program, provoke, known=known)

    return Place(name, tuple(programs.split()), cases, accepted)


FILES = [
    _each("a call for a file: the disk is full", "arrays", "files", "ENOSPC"),
    _each("a call for a file: input/output error", "arrays", "files", "EIO"),
    _each("a call for a file: not allowed", "arrays", "files", "EACCES"),
    _each("a call for a file: gone", "arrays", "files", "ENOENT"),
    _each("a call for a file: too many open files", "arrays", "files", "EMFILE"),
    _each("a call and all after it: the disk is full", "arrays", "files", "ENOSPC", always=True),
    _each("a call and all after it: i/o error", "arrays", "files", "EIO", always=True),
    _each("a program that is known: i/o error", "arrays", "files", "EIO", known=True),
    _each("a library of ours is built: full disk", "library", "files", "ENOSPC"),
    _each(
        "a program that calls Python: full disk",
        "python",
        "files",
        "ENOSPC",
        known=False,
        accepted=BUILDS,
        step=3,
    ),
]

_QUANTUM = "circuit gradient noise samples"
MEMORY_AND_MORE = [
    _each(
        "compiled code and engines: no memory",
        f"arrays sort fourier threads {_QUANTUM}",
        "memory",
        "ENOMEM",
        accepted=MEMORY,
    ),
    _each(
        "compiled code and engines: no memory any more",
        f"arrays threads {_QUANTUM}",
        "memory",
        "ENOMEM",
        accepted=MEMORY,
        always=True,
    ),
    _each("dlopen", "arrays circuit python", "libraries", "ENOENT", accepted=LOADS),
    _each(
        "dlopen, and all after it", "circuit", "libraries", "ENOENT", accepted=LOADS, always=True
    ),
    _each(
        "no thread can be started", "threads circuit", "threads", "EAGAIN", accepted=(), always=True
    ),
    _each("no process can be started", "arrays library", "processes", "EAGAIN"),
    _each("no process can be started any more", "arrays", "processes", "ENOMEM", always=True),
]

_LINKS = ("LinkError",)
LINKER = [
    _one("the linker is missing", by.variable("PATH", "{folder}"), ("LinkerNotFoundError",)),
    _one(
        "the linker that is named is missing",
        by.variable("DIASTASE_CC", "no-such-linker"),
        ("LinkerNotFoundError",),
    ),
    _one("the linker fails", by.linker_that("echo no; exit 3"), _LINKS),
    _one(
        "the linker says why in bytes of no text",
        by.linker_that("printf '\\377\\376' >&2; exit 1"),
        _LINKS,
    ),
    _one("the linker is killed", by.linker_that("kill -9 $$"), _LINKS),
    _one("the linker hangs", by.linker_that("exec sleep 1000", within=1.0), _LINKS),
    _one("a program of the linker's hangs", by.linker_that("sleep 1000; true", within=1.0), _LINKS),
    _one("the linker writes nothing, and is content", by.linker_that("true"), _LINKS),
    _one(
        "the linker writes something else",
        by.linker_that('while [ "$1" != -o ]; do shift; done; echo garbage > "$2"'),
        _LINKS,
    ),
    _one(
        "the linker writes half a library",
        by.linker_that('ld "$@"; while [ "$1" != -o ]; do shift; done; truncate -s 1000 "$2"'),
        _LINKS,
    ),
]

LIMITS = [
    *(
        _one(
            f"files of at most {size} bytes",
            by.limit(resource.RLIMIT_FSIZE, lambda size=size: size),
            BUILDS,
        )
        for size in (0, 1, 100, 4096, 8000)
    ),
    *(
        _one(
            f"{more} more open files",
            by.limit(resource.RLIMIT_NOFILE, lambda more=more: by.open_files() + more),
            BUILDS,
        )
        for more in range(0, 12, 2)
    ),
    _one("a cache on a full disk", by.full_disk),
    _one("a cache of another user", by.another_user(owns=False, mode=0o700), BUILDS),
    _one("a cache that is read-only", by.another_user(owns=True, mode=0o500), BUILDS),
]

CLOCKS = [
    _one("the clock is a year ahead", by.clock(365 * 86400)),
    _one("the clock is in 1970", by.clock(-1790000000)),
    _one("the clock jumps a day ahead while linking", by.clock(86400, after="link")),
    _one("the clock jumps a day back while linking", by.clock(-86400, after="link")),
    _one("files of the future", by.files_of(-365 * 86400), known=True),
    _one("files of 1970", by.files_of(1e11), known=True),
]


def _changed(
    name: str, change: Provocation, accepted: tuple[str, ...] = LOADS, programs: str = "arrays"
) -> Place:
    return _one(name, change, accepted, programs, known=True)


CHANGES = [
    _changed("the cache is removed between look-up and load", by.before_loading(by.emptied)),
    _changed("the program is cut between look-up and load", by.before_loading(by.cut)),
    _changed("the program becomes zeros between look-up and load", by.before_loading(by.zeroed)),
    _changed("another library is in its place", by.before_loading(by.exchanged)),
    _changed(
        "the cache is removed before the engine is loaded",
        by.before_loading(by.emptied, of="engine"),
        programs="circuit",
    ),
    _changed(
        "the engine is cut before it is loaded",
        by.before_loading(by.cut, of="engine"),
        programs="circuit",
    ),
    *(
        _changed(f"a bit flips in {what}, {place / 10:.0f} % in", by.flipped(pattern, place), ())
        for what, pattern in (
            ("an entry", "programs/*.json"),
            ("a library", "programs/*.so"),
            ("the note of the processor", "processor-*"),
            ("the note of the sources", "sources-*"),
        )
        for place in (0, 300, 600, 990)
    ),
]

PROCESSES = [
    Place("two processes at once", ("arrays", "library", "circuit"), partial(at_once, number=2)),
    Place("four processes at once", ("arrays",), partial(at_once, number=4)),
    Place(
        "kill -9 at a random moment",
        ("arrays", "library", "python", "circuit"),
        partial(killed, rounds=3),
        KILLED,
    ),
]

PLACES = [*FILES, *MEMORY_AND_MORE, *LINKER, *LIMITS, *CLOCKS, *CHANGES, *PROCESSES]
QUICK = [
    _each("some calls for files: the disk is full", "arrays", "files", "ENOSPC", step=22),
    _each("compiled code: no memory", "arrays", "memory", "ENOMEM", accepted=MEMORY),
    Place(
        "kill -9 at a few random moments", ("arrays",), partial(killed, rounds=1, kills=3), KILLED
    ),
]
"""What the suite runs."""
