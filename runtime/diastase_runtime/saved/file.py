"""The file of a saved function: a zip archive of a manifest and libraries, all as they are.

In: the manifest's JSON and the members, or a path. The archive is written beside the path and
renamed, so that there is the old file or the new one, whole. The manifest is the first member and
has the SHA-256 of each other one; the archive's comment has that of the manifest, and the number of
the format. Members are not compressed: what is read is no longer than the file.

What is between the members follows from their names, sizes and checksums (`_headers`). Who reads
compares it, so no byte of a file may be another, and a member is found without `zipfile`, which
takes longer than all else that `load` does.

The trap: names in the archive are compared with the manifest's and never used as paths.
"""

import errno
import hashlib
import json
import operator
import os
import re
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from diastase_runtime.saved.errors import (
    DamagedFileError,
    NotASavedFunctionError,
    SavedVersionError,
)

FORMAT = 1
"""Raised by one with every change of what is in a file."""

MANIFEST = "diastase.json"
_COMMENT = re.compile(rb"diastase saved function, format (\d{1,9}), sha256 ([0-9a-f]{64})\Z")
_LONGEST_COMMENT = 150

_MODE = 0o666
"""As the process's mask leaves it: a saved function is there to be passed on."""

_LOCAL = struct.Struct("<4s5H3I2H")
"""Before a member: ends with its CRC-32, two sizes, the lengths of its name and of nothing."""
_ENTRY = struct.Struct("<4s6H3I5H2I")
"""In the directory."""
_END = struct.Struct("<4s4H2IH")
_CRC_AT = 14
_FIRST_DAY = 1 << 5 | 1
"""1980-01-01: equal contents make equal files."""
_VERSION, _UNIX, _OWN = 20, 3 << 8, 0o600 << 16
_MOST_BYTES = 2**32 - 1


def checksum(content: bytes) -> str:
    """The SHA-256 of what is in a member."""
    return hashlib.sha256(content).hexdigest()


class _Headers(NamedTuple):
    """What of an archive is no member."""

    local: list[bytes]
    """Before each member."""
    directory: bytes
    """Behind them all, up to the comment."""


def _headers(
    names: Sequence[str], sizes: Sequence[int], crcs: Sequence[int], comment_length: int
) -> _Headers:
    """Of an archive of members that are not compressed; the format is PKWARE's APPNOTE.TXT."""
    local: list[bytes] = []
    directory: list[bytes] = []
    place = 0
    for text, size, crc in zip(names, sizes, crcs, strict=True):
        name = text.encode("ascii")
        known = (_VERSION, 0, 0, 0, _FIRST_DAY, crc, size, size, len(name), 0)
        local.append(_LOCAL.pack(b"PK\3\4", *known) + name)
        entry = _ENTRY.pack(b"PK\1\2", _VERSION | _UNIX, *known, 0, 0, 0, _OWN, place)
        directory.append(entry + name)
        place += len(local[-1]) + size
    entries = b"".join(directory)
    count = len(names)
    end = _END.pack(b"PK\5\6", 0, 0, count, count, len(entries), place, comment_length)
    return _Headers(local, entries + end)


def write(path: Path, manifest: dict[str, Any], members: Mapping[str, bytes]) -> None:
    """Write a file, in place of another one of that name; raises `OSError` and leaves that."""
    table = {
        name: {"sha256": checksum(content), "size": len(content)}
        for name, content in members.items()
    }
    text = json.dumps({**manifest, "members": table}, indent=1).encode()
    comment = f"diastase saved function, format {FORMAT}, sha256 {checksum(text)}".encode()
    everything = {MANIFEST: text, **members}
    contents = list(everything.values())
    if sum(map(len, contents)) + len(text) > _MOST_BYTES:
        raise OSError(errno.EFBIG, "it would have more than 4 GB")
    headers = _headers(
        list(everything), list(map(len, contents)), list(map(zlib.crc32, contents)), len(comment)
    )
    parts = [part for pair in zip(headers.local, contents, strict=True) for part in pair]
    _replace(path, [*parts, headers.directory, comment])


def _replace(path: Path, parts: Sequence[bytes]) -> None:
    beside = path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        with open(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(descriptor)  # a full disk may be found out here only
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


class Member(NamedTuple):
    """A library as it was written."""

    content: bytes
    checksum: str


@dataclass(frozen=True)
class SavedFile:
    """An open file whose manifest has been compared with its checksum."""

    path: Path
    manifest: dict[str, Any]
    stream: BinaryIO
    places: Mapping[str, int]
    """Where members begin."""
    checksum: str
    """Of the manifest, and so of all that is in the file."""

    def members(self, names: Iterable[str]) -> dict[str, Member]:
        """What is in these members, each as it was when it was written."""
        return {name: self._member(name) for name in dict.fromkeys(names)}

    def _member(self, name: str) -> Member:
        known = self.manifest["members"].get(name)
        if known is None:
            raise DamagedFileError(file=self.path, reason=f"{name} is missing")
        content = _piece(self.stream, self.places[name], known["size"])
        found = checksum(content)
        if found != known.get("sha256"):
            raise DamagedFileError(file=self.path, reason=f"{name} is not what was written")
        return Member(content, found)


def opened(path: Path, stream: BinaryIO) -> SavedFile:
    """Read the manifest of a file that is open; raises an error of ours for what is none."""
    text_place = _LOCAL.size + len(MANIFEST)
    beginning = _piece(stream, 0, text_place)
    if not beginning.startswith(b"PK") or not beginning.endswith(MANIFEST.encode()):
        raise NotASavedFunctionError(file=path)
    end = stream.seek(0, os.SEEK_END)
    comment = _COMMENT.search(_piece(stream, max(0, end - _LONGEST_COMMENT), _LONGEST_COMMENT))
    if comment is None:
        raise DamagedFileError(file=path, reason="it is cut short, or altered")
    if int(comment[1]) != FORMAT:
        saved = f"a version with format {int(comment[1])}"
        raise SavedVersionError(file=path, saved=saved, this=f"one with format {FORMAT}")
    text = _piece(stream, text_place, min(_size(beginning), end))
    if checksum(text) != comment[2].decode():
        raise DamagedFileError(file=path, reason=f"{MANIFEST} is not what was written")
    try:
        manifest = json.loads(text)
        sizes = {MANIFEST: len(text)}
        sizes |= {
            name: operator.index(known["size"]) for name, known in manifest["members"].items()
        }
        places = _places(stream, sizes, end - len(comment[0]), len(comment[0]))
    except (
        KeyError, TypeError, ValueError, AttributeError, RecursionError,
        struct.error,  # of more members, or longer names, than an archive can have
    ) as error:  # fmt: skip
        raise DamagedFileError(file=path, reason=f"its manifest: {error!r}") from None
    if places is None:
        raise DamagedFileError(
            file=path, reason="what is between its members is not what was written"
        )
    return SavedFile(path, manifest, stream, places, comment[2].decode())


def _size(local_header: bytes) -> int:
    """Of the member behind it, as it says."""
    return _LOCAL.unpack_from(local_header)[7]


def _places(
    stream: BinaryIO, sizes: Mapping[str, int], end: int, comment_length: int
) -> dict[str, int] | None:
    """Where the members of an archive begin; None where there is anything else in it."""
    if end > _MOST_BYTES:
        return None
    place = 0
    found: list[bytes] = []
    places: dict[str, int] = {}
    for name, size in sizes.items():
        if not 0 <= size <= end:
            return None
        found.append(_piece(stream, place, _LOCAL.size + len(name)))
        places[name] = place + len(found[-1])
        place = places[name] + size
    if not place < end or len(min(found, key=len)) < _LOCAL.size:
        return None
    # Those of members that are not read have nothing else to be compared with.
    crcs = [int.from_bytes(header[_CRC_AT : _CRC_AT + 4], "little") for header in found]
    wanted = _headers(list(sizes), list(sizes.values()), crcs, comment_length)
    directory = _piece(stream, place, end - place)
    return places if (found, directory) == wanted else None


def _piece(stream: BinaryIO, place: int, size: int) -> bytes:
    stream.seek(place)
    return stream.read(size)
