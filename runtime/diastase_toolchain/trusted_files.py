"""Folders and files that nobody else can have written: what is in them is loaded and run.

In: a path in the cache. Out: its contents, read by the descriptor whose owner and mode were looked
at. A symbolic link is not followed: whoever made it chose what it leads to.

Nobody else can put another file into a trusted folder, so what is read there is what is loaded by
the same name afterwards.
"""

import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe would be waited for
OWN_FILE, OWN_LIBRARY, OWN_FOLDER = 0o600, 0o700, 0o700
"""Modes of what we write, whatever the process's mask."""


class UntrustedError(OSError):
    """A file or folder that others own or can write; only its reason is for the user."""


def check(status: os.stat_result) -> None:
    """Raise unless it belongs to this user and can be written by nobody else."""
    if status.st_uid != os.geteuid():
        raise UntrustedError("belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UntrustedError("can be written by others")


def read(path: Path) -> bytes:
    """The contents of a file; raises `OSError` for what is no file or not trusted."""
    with open(os.open(path, _FLAGS), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        check(status)
        if not stat.S_ISREG(status.st_mode):
            raise UntrustedError("is no file")
        return file.read()


def make_folder(path: Path) -> None:
    """Make a folder if need be; raises `OSError` where it cannot be used or trusted."""
    path.mkdir(mode=OWN_FOLDER, parents=True, exist_ok=True)
    check(path.stat())
    if not os.access(path, os.W_OK | os.X_OK):
        raise UntrustedError("cannot be written")
