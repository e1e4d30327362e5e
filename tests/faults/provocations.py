"""Faults provoked by what there really is: linkers that do not link, limits, clocks, users.

Each is called in the process that it is to befall, with the folder of its case, and is over at the
end of its `with`.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from diastase_runtime import libraries, loader
from diastase_runtime.abi import ENTRY_SYMBOL, IMPORT_TABLE
from diastase_toolchain import linker
from faults.children import Provocation, Strikes
from faults.injector import move_clock

NOBODY = 65534
_OF_A_PROGRAM = re.compile("[0-9a-f]{40}[-.]")


def _once(what: str) -> Strikes:
    return lambda: (1, what)


def linker_that(script: str, *, within: float | None = None) -> Provocation:
    """Link by a script of the shell; `within`: have less patience with it."""

    @contextmanager
    def provoke(folder: Path) -> Iterator[Strikes]:
        program = folder / "tmp" / "my-ld"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        patience = getattr(linker, "PATIENCE", None)
        os.environ["DIASTASE_CC"] = str(program)
        linker.PATIENCE = within or patience
        try:
            yield _once(script)
        finally:
            linker.PATIENCE = patience
            del os.environ["DIASTASE_CC"]
            program.unlink()

    return provoke


def variable(name: str, value: str) -> Provocation:
    """Change a variable of the environment."""

    @contextmanager
    def provoke(folder: Path) -> Iterator[Strikes]:
        before = os.environ.get(name)
        os.environ[name] = value.format(folder=folder)
        try:
            yield _once(f"{name}={value}")
        finally:
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before

    return provoke


def limit(kind: int, value: Callable[[], int]) -> Provocation:
    """Give the process less of something; how much is asked for when it begins."""

    @contextmanager
    def provoke(folder: Path) -> Iterator[Strikes]:
        soft, hard = resource.getrlimit(kind)
        amount = value()
        resource.setrlimit(kind, (amount, hard))
        try:
            yield _once(f"at most {amount}")
        finally:
            resource.setrlimit(kind, (soft, hard))

    return provoke


def open_files() -> int:
    """The smallest number that no open file has."""
    return max(int(entry) for entry in os.listdir("/proc/self/fd")) + 1


def clock(seconds: int, *, after: str = "") -> Provocation:
    """Let the time of day jump: at once, or when the linker is called."""

    @contextmanager
    def provoke(folder: Path) -> Iterator[Strikes]:
        run = linker._run

        def jumps(*arguments: object) -> None:
            move_clock(seconds)
            run(*arguments)

        if after == "link":
            linker._run = jumps
        else:
            move_clock(seconds)
        try:
            yield _once(f"{seconds} s")
        finally:
            linker._run = run
            move_clock(0)

    return provoke


def files_of(age: float) -> Provocation:
    """Let everything in the cache be of another time."""

    @contextmanager
    def provoke(folder: Path) -> Iterator[Strikes]:
        then = max(0.0, time.time() - age)
        for path in folder.rglob("*"):
            os.utime(path, (then, then))
        yield _once(f"{age} s old")

    return provoke


def before_loading(change: Callable[[Path], object], *, of: str = "program") -> Provocation:
    """Change something between look-up and load: of the first library that is loaded.

    `of` says which: the program, or one of ours, by the beginning of its name.
    """

    @contextmanager
    def provoke(folder: Path) -> Iterator[Strikes]:
        struck: list[str] = []
        opened = libraries.open_library

        def changes(path: Path, *, unique: bool) -> object:
            is_program = _OF_A_PROGRAM.match(path.name) is not None
            if not struck and (is_program if of == "program" else path.name.startswith(of)):
                struck.append(path.name)
                change(path)
            return opened(path, unique=unique)

        loader.open_library = libraries.open_library = changes
        try:
            yield lambda: (len(struck), " ".join(struck))
        finally:
            loader.open_library = libraries.open_library = opened

    return provoke


def cut(path: Path) -> None:
    """Take the second half of a file away, in place."""
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    """Remove the whole cache."""
    shutil.rmtree(path.parents[1])


def zeroed(path: Path) -> None:
    """Put zeros in the place of a file."""
    size = path.stat().st_size
    path.unlink()
    path.write_bytes(bytes(size))


def exchanged(path: Path) -> None:
    """Put another library in its place, which can be loaded and has the same names."""
    source = path.with_name("other.c")
    source.write_text(
        f"void *{IMPORT_TABLE}[64]; static double wrong[64];\n"
        f"void {ENTRY_SYMBOL}(double **result) {{ result[0] = result[1] = wrong; }}\n"
    )
    subprocess.run(["cc", "-shared", "-o", str(source.with_suffix(".so")), str(source)], check=True)
    source.unlink()
    source.with_suffix(".so").replace(path)


def flipped(pattern: str, place: int) -> Provocation:
    """Flip a bit in a file of the cache, so many thousandths from its beginning."""

    @contextmanager
    def provoke(folder: Path) -> Iterator[Strikes]:
        paths = [path for path in (folder / "cache").glob(pattern) if _is_of_the_case(path)]
        for path in paths:
            content = bytearray(path.read_bytes())
            content[len(content) * place // 1000] ^= 6  # `+` becomes `-`
            path.write_bytes(content)
        yield lambda: (len(paths), pattern)

    return provoke


def _is_of_the_case(path: Path) -> bool:
    """Not a library of ours, which nobody might look at again."""
    return path.parent.name != "programs" or _OF_A_PROGRAM.match(path.name) is not None


def another_user(*, owns: bool, mode: int, default: bool = False) -> Provocation:
    """Be a user who cannot do everything, with a cache that is one's own or not."""

    @contextmanager
    def provoke(folder: Path) -> Iterator[Strikes]:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY) if owns or "cache" not in path.parts else None
        (folder / "cache").chmod(mode)
        os.setresgid(NOBODY, NOBODY, 0)
        os.setresuid(NOBODY, NOBODY, 0)
        if default:
            (folder / "cache").rename(folder / "diastase") if owns else None
            del os.environ["DIASTASE_CACHE_DIR"]
            os.environ["XDG_CACHE_HOME"] = str(folder)
        try:
            yield _once(f"mode {mode:o}")
        finally:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            (folder / "cache").chmod(0o700)
            for path in (folder, *folder.rglob("*")):
                os.chown(path, 0, 0)

    return provoke


@contextmanager
def full_disk(folder: Path) -> Iterator[Strikes]:
    """Have the cache on a disk of 64 KB."""
    shutil.rmtree(folder / "cache")
    (folder / "cache").mkdir(mode=0o700)
    options = ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(folder / "cache")]
    subprocess.run(["mount", *options], check=True)
    try:
        yield _once("64 KB")
    finally:
        subprocess.run(["umount", "--lazy", str(folder / "cache")], check=True)


def has_mounts(folder: Path) -> bool:
    """Whether this process may mount a file system."""
    if sys.platform != "linux" or shutil.which("mount") is None:
        return False
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode:
        return False
    subprocess.run(["umount", str(folder)], check=True)
    return True
