"""Files of saved functions that are cut, altered, foreign or for other computers."""

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import diastase_runtime
from diastase import DiastaseError, qjit
from diastase_runtime import trusted_files
from diastase_runtime.abi import ABI_VERSION
from diastase_runtime.saved import file, function, processors
from diastase_runtime.saved.errors import (
    DamagedFileError,
    MissingPackageError,
    MissingProcessorFeaturesError,
    NotASavedFunctionError,
    SavedVersionError,
)

SAVED = "f.diastase"


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / SAVED
    qjit(lambda x: {"y": x @ x.T}).save(path, types=("f64[n,m]",))
    return path.read_bytes()


@pytest.fixture
def saved(content):
    Path(SAVED).write_bytes(content)
    return Path(SAVED)


def read_all(path):
    """What `load` reads of a file before anything of it is run."""
    with path.open("rb") as stream:
        opened = file.opened(path, stream)
        manifest = function._manifest(opened)
        return manifest, opened.members(opened.manifest["members"])


def with_manifest(path, change, **more):
    """Write the file again, with another manifest and checksums that fit."""
    with path.open("rb") as stream:
        opened = file.opened(path, stream)
        members = opened.members(opened.manifest["members"])
        manifest = opened.manifest
    members = {name: member.content for name, member in members.items()}
    change(manifest)
    del manifest["members"]
    file.write(path, manifest, members | more)


def test_what_is_written_is_read(saved):
    with zipfile.ZipFile(saved) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
    assert names[0] == "diastase.json"
    assert all(name.startswith(("programs/program-", "libraries/threads-")) for name in names[1:])
    x = np.arange(6.0).reshape(2, 3)
    assert diastase_runtime.load(saved)(x)["y"].tolist() == (x @ x.T).tolist()
    assert os.listdir() == [SAVED]


def test_archives_are_those_of_zipfile():
    """Byte for byte, of members that zipfile does not compress."""
    members = {"libraries/some.so": b"\x7fELF" * 99, "programs/none.so": b""}
    file.write(Path(SAVED), {"name": "ü"}, members)
    with zipfile.ZipFile(SAVED) as archive:
        manifest, comment = archive.read(file.MANIFEST), archive.comment
    with zipfile.ZipFile("other", "w", zipfile.ZIP_STORED) as archive:
        for name, content in {file.MANIFEST: manifest, **members}.items():
            archive.writestr(zipfile.ZipInfo(name), content)
        archive.comment = comment
    assert Path(SAVED).read_bytes() == Path("other").read_bytes()


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", range(8))
def test_each_altered_range_is_found(content, part):
    """In all parts together, each byte is altered once; in one, each eighth run of bytes."""
    path = Path(SAVED)
    length = 64
    for start in range(part * length, len(content), 8 * length):
        altered = bytearray(content)
        altered[start : start + length] = bytes(
            byte ^ 0x5A for byte in altered[start : start + length]
        )
        path.write_bytes(altered)
        with pytest.raises((DamagedFileError, NotASavedFunctionError, SavedVersionError)):
            read_all(path)


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", range(4))
def test_each_byte_of_what_is_no_library(content, part):
    """Headers, manifest, directory and comment, a bit at a time."""
    path = Path(SAVED)
    directory = content.rindex(b"PK\x01\x02", 0, content.rindex(b"PK\x05\x06") - 200)
    places = [*range(3000), *range(directory, len(content))]
    for place in places[part::16]:
        altered = bytearray(content)
        altered[place] ^= 1 << place % 8
        path.write_bytes(altered)
        with pytest.raises((DamagedFileError, NotASavedFunctionError, SavedVersionError)):
            read_all(path)


def test_files_that_are_cut_short(content):
    path = Path(SAVED)
    for length in sorted({*range(0, len(content), 997), *range(64), *range(-64, 0)}):
        path.write_bytes(content[:length])
        with pytest.raises((DamagedFileError, NotASavedFunctionError)):
            diastase_runtime.load(path)


def test_files_that_have_more(saved, content):
    saved.write_bytes(content + b"x")
    with pytest.raises(DamagedFileError):
        diastase_runtime.load(saved)
    saved.write_bytes(content)
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("libraries/more.so", b"")
    with pytest.raises(DamagedFileError, match="between its members"):
        diastase_runtime.load(saved)


def test_members_that_are_compressed(saved, content):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.comment = comment
    with pytest.raises(DamagedFileError, match="not what was written"):
        diastase_runtime.load(saved)


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", b"\x7fELF" + bytes(100)])
def test_files_of_others(content):
    Path(SAVED).write_bytes(content)
    with pytest.raises(NotASavedFunctionError, match=SAVED):
        diastase_runtime.load(SAVED)


def test_an_archive_of_others():
    np.savez("arrays.npz", x=np.ones(3))
    with pytest.raises(NotASavedFunctionError):
        diastase_runtime.load("arrays.npz")
    with pytest.raises(FileNotFoundError):
        diastase_runtime.load("none")
    with pytest.raises(IsADirectoryError):
        diastase_runtime.load(".")


def test_other_versions(saved, content):
    saved.write_bytes(content.replace(b", format 1, ", b", format 2, "))
    with pytest.raises(SavedVersionError, match=r"format 2.*format 1"):
        diastase_runtime.load(saved)
    saved.write_bytes(content)
    with_manifest(saved, lambda manifest: manifest.update(abi=ABI_VERSION + 1))
    with pytest.raises(SavedVersionError, match=f"ABI {ABI_VERSION + 1}.*ABI {ABI_VERSION}"):
        diastase_runtime.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.pop("programs"),
        lambda manifest: manifest.update(targets=3),
        lambda manifest: manifest["programs"][0].update(arguments=[{}]),
        lambda manifest: manifest["programs"][0].update({"in": ["set", []]}),
        lambda manifest: manifest["targets"][0]["artifacts"][0].pop("imports"),
        lambda manifest: manifest["targets"][0]["artifacts"][0].update(library="../../x.so"),
        lambda manifest: manifest["targets"][0]["artifacts"][0]["arguments"][0].update(dtype=[]),
        lambda manifest: manifest["targets"][0]["artifacts"][0]["arguments"][0].update(dtype="?!"),
        lambda manifest: manifest["targets"][0].update(artifacts=[]),
        lambda manifest: manifest["programs"][0].update(names=[]),
        lambda manifest: manifest["programs"][0].update(results=[]),
    ],
)
def test_manifests_that_make_no_sense(saved, change):
    with_manifest(saved, change)
    with pytest.raises(DamagedFileError):
        diastase_runtime.load(saved)


NONE = {"size": 0, "sha256": file.checksum(b"")}


@pytest.mark.parametrize(
    "change",
    [
        lambda members: [each.pop("sha256") for each in members.values()],
        lambda members: [each.update(sha256=3) for each in members.values()],
        lambda members: members.update({"n" * 70_000: NONE}),
        lambda members: members.update({f"n{k}": NONE for k in range(70_000)}),
    ],
    ids=["no checksum", "a number", "a long name", "many"],
)
def test_tables_of_members_that_make_no_sense(saved, change):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop(file.MANIFEST))
    change(manifest["members"])
    text = json.dumps(manifest)
    if len(manifest["members"]) > len(members):
        members["more"] = bytes(3_000_000)  # where headers of so many would be
    with zipfile.ZipFile(saved, "w") as archive:
        for name, data in {file.MANIFEST: text, **members}.items():
            archive.writestr(zipfile.ZipInfo(name), data)
        total = file.checksum(text.encode())
        archive.comment = f"diastase saved function, format 1, sha256 {total}".encode()
    with pytest.raises(DamagedFileError):
        diastase_runtime.load(saved)


def test_a_size_beyond_the_file_takes_no_memory(content):
    altered = bytearray(content)
    altered[18:26] = b"\xff" * 8
    sizes = []

    class Stream(io.BytesIO):
        def read(self, size=-1):
            sizes.append(size)
            return super().read(size)

    with pytest.raises(DamagedFileError):
        file.opened(Path(SAVED), Stream(altered))
    assert max(sizes) <= len(content)


@pytest.mark.parametrize("text", [b"[1]", b"{}", b"text", b"[" * 100_000])
def test_manifests_that_are_no_table(tmp_path, text):
    with zipfile.ZipFile(tmp_path / "made", "w") as archive:
        archive.writestr(file.MANIFEST, text)
        archive.comment = (
            f"diastase saved function, format {file.FORMAT}, sha256 {file.checksum(text)}".encode()
        )
    with pytest.raises(DamagedFileError, match="manifest"):
        diastase_runtime.load(tmp_path / "made")


def test_processors_that_lack_something(saved):
    needed = read_all(saved)[0].targets[0].features
    assert set(needed) <= processors.flags()
    assert "sse4_2" in needed
    with_manifest(saved, lambda manifest: manifest["targets"][0]["features"].append("avx9"))
    with pytest.raises(MissingProcessorFeaturesError, match="this computer has no avx9"):
        diastase_runtime.load(saved)
    with_manifest(saved, lambda manifest: manifest["targets"][0].update(platform="linux-riscv64"))
    with pytest.raises(MissingProcessorFeaturesError, match=f"riscv64.*is {processors.platform()}"):
        diastase_runtime.load(saved)


def test_a_system_that_does_not_say_what_its_processor_has(saved, monkeypatch):
    monkeypatch.setattr(processors, "PROCESSORS", Path("none"))
    processors.flags.cache_clear()
    try:
        with pytest.raises(MissingProcessorFeaturesError, match="does not say in none"):
            diastase_runtime.load(saved)
    finally:
        processors.flags.cache_clear()


def test_what_llvm_calls_features():
    needed = processors.needed("+sse4.2,+sse3,+lzcnt,-avx512f,+64bit,+clwb,+bmi")
    assert needed == tuple(sorted({"sse4_2", "pni", "abm", "bmi1"} & processors.flags()))


def test_without_scipy(saved, monkeypatch):
    monkeypatch.setattr(function, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="needs the package scipy") as failure:
        diastase_runtime.load(saved)
    assert isinstance(failure.value, ImportError)


def test_folders_are_the_users_alone_and_do_not_stay(saved, monkeypatch, tmp_path):
    made, make = [], trusted_files.temporary_folder

    def folder(prefix):
        made.append(make(prefix))
        assert made[-1].stat().st_mode & 0o777 == 0o700
        return made[-1]

    monkeypatch.setattr(trusted_files, "temporary_folder", folder)
    loaded = diastase_runtime.load(saved)
    assert made
    assert not any(path.exists() for path in made)
    assert loaded(np.eye(2))["y"].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    monkeypatch.setattr(function, "Executable", None)  # and where loading fails
    with pytest.raises(TypeError):
        diastase_runtime.load(saved)
    assert not any(path.exists() for path in made)


def test_saved_functions_have_the_modes_of_the_mask(saved, content):
    before = os.umask(0o027)
    try:
        file.write(Path("other"), {}, {})
    finally:
        os.umask(before)
    assert Path("other").stat().st_mode & 0o777 == 0o640


def test_who_writes_a_file_decides_what_runs(saved):
    """Another library with checksums that fit is run: they are no signatures."""
    other = qjit(lambda x: {"y": x @ x.T + 100.0})
    other.save("other", types="f64[n,m]")
    with zipfile.ZipFile("other") as archive:
        names = archive.namelist()
        program = next(name for name in names if name.startswith("programs/"))
        library = archive.read(program)

    def put(manifest):
        (artifact,) = manifest["targets"][0]["artifacts"]
        artifact["library"] = program

    with_manifest(saved, put, **{program: library})
    saved.chmod(0o666)
    assert diastase_runtime.load(saved)(np.eye(2))["y"].tolist() == [[101.0, 100.0], [100.0, 101.0]]


def test_all_errors_are_ours(saved):
    saved.write_bytes(b"")
    with pytest.raises(DiastaseError):
        diastase_runtime.load(saved)
