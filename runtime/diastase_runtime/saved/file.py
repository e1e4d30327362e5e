"""The file of a saved function: a zip archive of a manifest and libraries, all as they are.

In: the manifest's JSON and the members, or a path. The archive is written beside the path and
renamed, so that there is the old file or the new one, whole. The manifest is the first member and
has the SHA-256 of each other one; the archive's comment has that of the manifest, and the number of
the format. Members are not compressed: what is read is no longer than the file.

The trap: names in the archive are compared with the manifest's and never used as paths.
"""

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from diastase_runtime.saved.errors import (
    DamagedFileError,
    NotASavedFunctionError,
    SavedVersionError,
)

FORMAT = 1
"""Raised by one with every change of what is in a file."""

MANIFEST = "diastase.json"
_COMMENT = re.compile(rb"diastase saved function, format (\d{1,9}), sha256 ([0-9a-f]{64})")
_BEGINNING = 30
"""Bytes of a zip archive before the name of its first member."""

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""Equal contents make equal files."""

_MODE = 0o666
"""As the process's mask leaves it: a saved function is there to be passed on."""


def checksum(content: bytes) -> str:
    """The SHA-256 of what is in a member."""
    return hashlib.sha256(content).hexdigest()


def write(path: Path, manifest: dict[str, Any], members: Mapping[str, bytes]) -> None:
    """Write a file, in place of another one of that name; raises `OSError` and leaves that."""
    table = {
        name: {"sha256": checksum(content), "size": len(content)}
        for name, content in members.items()
    }
    text = json.dumps({**manifest, "members": table}, indent=1).encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {MANIFEST: text, **members}.items():
            archive.writestr(zipfile.ZipInfo(name, _FIRST_DAY), data)
        archive.comment = (
            f"diastase saved function, format {FORMAT}, sha256 {checksum(text)}".encode()
        )
    _replace(path, content.getbuffer())


def _replace(path: Path, content: memoryview) -> None:
    beside = path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)  # a full disk may be found out here only
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class SavedFile:
    """An open file whose manifest has been compared with its checksum."""

    path: Path
    manifest: dict[str, Any]
    archive: zipfile.ZipFile
    checksum: str
    """Of the manifest, and so of all that is in the file."""

    def members(self, names: Iterable[str]) -> "dict[str, Member]":
        """What is in these members, each as it was when it was written."""
        return {name: self._member(name) for name in dict.fromkeys(names)}

    def _member(self, name: str) -> "Member":
        known = self.manifest["members"].get(name)
        if known is None:
            raise DamagedFileError(file=self.path, reason=f"{name} is missing")
        content = _stored(self.path, self.archive, name)
        if len(content) != known["size"] or checksum(content) != known["sha256"]:
            raise DamagedFileError(file=self.path, reason=f"{name} is not what was written")
        return Member(content, known["sha256"])


class Member(NamedTuple):
    """A library as it was written."""

    content: bytes
    checksum: str


def opened(path: Path, stream: Any) -> SavedFile:
    """Read the manifest of a file that is open; raises an error of ours for what is none."""
    beginning = stream.read(_BEGINNING + len(MANIFEST))
    if not beginning.startswith(b"PK") or not beginning.endswith(MANIFEST.encode()):
        raise NotASavedFunctionError(file=path)
    try:
        archive = zipfile.ZipFile(stream)
    except Exception as error:  # of many kinds, for bytes of any kind
        raise DamagedFileError(file=path, reason=f"it is cut short, or altered ({error})") from None
    comment = _COMMENT.fullmatch(archive.comment)
    stream.seek(-len(archive.comment), os.SEEK_END)
    if comment is None or stream.read() != archive.comment:  # zip ignores what follows it
        raise DamagedFileError(file=path, reason="it is cut short, or altered")
    if int(comment[1]) != FORMAT:
        saved = f"a version with format {int(comment[1])}"
        raise SavedVersionError(file=path, saved=saved, this=f"one with format {FORMAT}")
    text = _stored(path, archive, MANIFEST)
    if checksum(text) != comment[2].decode():
        raise DamagedFileError(file=path, reason=f"{MANIFEST} is not what was written")
    try:
        manifest = json.loads(text)
        names = [MANIFEST, *manifest["members"]]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedFileError(file=path, reason=f"its manifest: {error!r}") from None
    if names != archive.namelist():
        raise DamagedFileError(file=path, reason="it has other members than were written")
    return SavedFile(path, manifest, archive, comment[2].decode())


def _stored(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        member = archive.getinfo(name)
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError("compressed")
        return archive.read(member)
    except Exception as error:
        raise DamagedFileError(file=path, reason=f"{name}: {error}") from None
