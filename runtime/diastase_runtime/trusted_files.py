"""Folders and files that nobody else can have written: what is in them is loaded and run.

In: a path in the cache, or nothing, for a temporary folder. Out: a file's contents, read by the
descriptor whose owner and mode were looked at; or a folder that is as trusted as what is above it.
A symbolic link in the place of a file is not followed: whoever made it chose what it leads to.

Nobody else can put another file into a trusted folder, nor another folder in its place, so what is
read there is what is loaded by the same name afterwards. The trap is the second half: who can write
a folder can rename what is in it, whoever owns that. So the whole way to it is looked at.
"""

import grp
import os
import pwd
import re
import shutil
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from diastase_runtime.errors import UnsafeTemporaryFolderError

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe would be waited for
OWN_FILE, OWN_LIBRARY, OWN_FOLDER = 0o600, 0o700, 0o700
"""Modes of what we write, whatever the process's mask."""

_MOST_BYTES = 1 << 32
"""Twice of what machine code that is linked as ours is can have."""

_EXPANDED = re.compile(r"\$\{?(ORIGIN|LIB|PLATFORM)")
"""What the dynamic linker replaces in names of libraries."""

_ROOT = 0
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - looked at before they are used


class UntrustedError(OSError):
    """A file or folder that others own or can write: which one it is, and a reason for the user."""

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(reason)
        self.path = Path(path)


def check(path: Path, status: os.stat_result) -> None:
    """Raise unless it belongs to this user and can be written by nobody else."""
    if status.st_uid != os.geteuid():
        raise UntrustedError(path, "belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UntrustedError(path, "can be written by others")


def read(path: Path) -> bytes:
    """The contents of a file; raises `OSError` for what is no file or not trusted."""
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        check(path, status)
        if not stat.S_ISREG(status.st_mode):
            raise UntrustedError(path, "is no file")
        if status.st_size > _MOST_BYTES:
            raise UntrustedError(path, f"has {status.st_size} bytes")
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder in one that is trusted; raises `OSError` where it cannot be used or trusted."""
    path.mkdir(mode=OWN_FOLDER, exist_ok=True)
    check(path, path.stat())
    if not os.access(path, os.W_OK | os.X_OK):
        raise UntrustedError(path, "cannot be written")


def make_way(path: Path) -> None:
    """Make the folders above a path, if need be; raises `OSError` where they are not trusted."""
    if not path.parent.is_dir():
        check_way(path)  # of what is there, before anything is made in it
        _make_with_parents(path.parent)
    check_way(path)


def _make_with_parents(path: Path) -> None:
    """All for the user alone: Python would give parents the mode that the mask leaves."""
    if not path.is_dir():
        _make_with_parents(path.parent)
        path.mkdir(mode=OWN_FOLDER, exist_ok=True)


def temporary_folder(prefix: str) -> Path:
    """Make a folder of this user's alone, where nobody else can put another in its place."""
    for parent in (None, *_TEMPORARY):
        with suppress(OSError):
            folder = Path(parent or tempfile.gettempdir())  # TMPDIR, if there is such a folder
            check_way(folder / prefix)
            return Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
    raise UnsafeTemporaryFolderError(directory=os.environ.get("TMPDIR", _TEMPORARY[0]))


@contextmanager
def temporary(prefix: str) -> Generator[Path]:
    """The same, removed in the end."""
    folder = temporary_folder(prefix)
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder and what is in it; what fails for a moment is tried again."""
    for _ in range(2):
        shutil.rmtree(folder, ignore_errors=True)


def check_way(path: Path) -> None:
    """Raise if others could put something else in the place of this path, or of what is above it.

    The user's home folder and those above it are taken as they are: who can write there can make
    the user's shell and Python run anything.
    """
    if _EXPANDED.search(str(path)):
        raise UntrustedError(path, "has a name that the dynamic linker takes for another")
    for place, status in _way(path):
        fault = _fault(status)
        if fault is not None and not _is_home_or_above(place):
            raise UntrustedError(place, fault)


def check_own(path: Path) -> None:
    """Raise if what is written under this path would be others' to read, change or lead away."""
    status = os.lstat(path)
    fault = "belongs to another user" if status.st_uid != os.geteuid() else _fault(status)
    if fault is not None:
        raise UntrustedError(path, fault)


def _way(path: Path) -> Generator[tuple[str, os.stat_result]]:
    """Folders in which the parts of a path are looked up, and links that are followed."""
    at, names = "/", list(path.absolute().parts[:0:-1])
    while names:
        folder = os.stat(at)
        yield at, folder
        name = names.pop()
        entry = os.path.join(at, name)
        if name == "..":
            at = os.path.dirname(at)
            continue
        try:
            status = os.lstat(entry)
        except FileNotFoundError:
            return
        if not stat.S_ISLNK(status.st_mode):
            at = entry
            continue
        os.stat(entry)  # raises for links in a circle
        yield entry, status
        target = PurePath(os.readlink(entry))
        at = "/" if target.is_absolute() else at
        names += [part for part in reversed(target.parts) if part != "/"]


def _fault(status: os.stat_result) -> str | None:
    """Why others could exchange what is in a folder, or made a link."""
    if status.st_uid not in (_ROOT, os.geteuid()):
        return "belongs to another user"
    others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX or not others:
        return None
    if others == stat.S_IWGRP and _is_own_group(status.st_gid):
        return None
    return "can be written by others"


def _is_own_group(group: int) -> bool:
    """Whether a group has no other members: many systems give each user one, of the same name."""
    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    alone = set(entry.gr_mem) <= {user.pw_name}
    return alone and user.pw_gid == group and user.pw_name == entry.gr_name


def _is_home_or_above(place: str) -> bool:
    """Of the home folder that the system knows: `sudo` may keep the variable of another user."""
    try:
        home = Path(pwd.getpwuid(os.geteuid()).pw_dir).resolve()
    except (KeyError, OSError):
        return False
    return Path(place).resolve() in (home, *home.parents)
