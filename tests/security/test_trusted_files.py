"""What is loaded and run: which files and folders are trusted, that others can exchange none."""

import errno
import grp
import os
import shutil
import socket
import stat
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from diastase import qjit
from diastase_mlir import CompileOptions, cache_directory, compile_module
from diastase_mlir.options import workspace
from diastase_runtime import Executable, trusted_files
from diastase_runtime.errors import UnsafeTemporaryFolderError
from diastase_runtime.trusted_files import (
    UntrustedError,
    check_way,
    read,
    temporary,
    temporary_folder,
)
from diastase_toolchain.errors import UnsafeCacheDirectoryError

STRANGER = 65534
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


TIMES_TWO = """(%x: tensor<f64>) -> tensor<f64> {{
    %result = stablehlo.{} %x, %x : tensor<f64>
    return %result : tensor<f64>
}}"""


@pytest.fixture
def above(tmp_path, monkeypatch):
    """A folder above a cache directory that `DIASTASE_CACHE_DIR` names."""
    folder = tmp_path / "above"
    (folder / "mine").mkdir(parents=True)
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(folder / "mine" / "cache"))
    return folder


@pytest.fixture
def shared_group(monkeypatch):
    """Groups have members besides us."""
    entry = SimpleNamespace(gr_name="staff", gr_mem=["somebody"])
    monkeypatch.setattr(grp, "getgrgid", lambda _: entry)


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o770, 0o2775])
def test_a_folder_above_in_which_others_can_rename(above, shared_group, mode):
    above.chmod(mode)
    with pytest.raises(UnsafeCacheDirectoryError, match="can be written by others") as caught:
        cache_directory()
    assert caught.value.directory == above
    assert not list((above / "mine").iterdir())


@pytest.mark.parametrize("mode", [0o1777, 0o755, 0o700, 0o3775])
def test_a_folder_above_in_which_others_can_rename_nothing(above, shared_group, mode):
    above.chmod(mode)
    assert cache_directory() == above / "mine" / "cache"


def test_a_group_of_the_user_alone_is_nobody_else(above):
    user = trusted_files.pwd.getpwuid(os.geteuid())
    own = grp.getgrgid(user.pw_gid)
    if own.gr_name != user.pw_name or set(own.gr_mem) - {user.pw_name}:
        pytest.skip("this user has no group of its own")
    os.chown(above, -1, user.pw_gid)
    above.chmod(0o775)
    assert cache_directory() is not None
    above.chmod(0o777)
    with pytest.raises(UnsafeCacheDirectoryError):
        cache_directory()


def test_the_home_folder_is_taken_as_it_is(above, monkeypatch):
    """Who can write there has the user's shell; the variable HOME alone makes no home."""
    above.chmod(0o777)
    monkeypatch.setenv("HOME", str(above))
    with pytest.raises(UnsafeCacheDirectoryError):
        cache_directory()
    entry = SimpleNamespace(pw_dir=str(above), pw_name="me", pw_gid=-1)
    monkeypatch.setattr(trusted_files.pwd, "getpwuid", lambda _: entry)
    assert cache_directory() is not None
    (above / "mine").chmod(0o777)
    with pytest.raises(UnsafeCacheDirectoryError):
        cache_directory()


@only_root
@pytest.mark.parametrize("name", ["above", "above/mine", "above/mine/cache"])
def test_a_folder_of_another_user_on_the_way(above, name):
    cache_directory()
    os.chown(above.parent / name, STRANGER, -1)
    with pytest.raises(UnsafeCacheDirectoryError, match="belongs to another user"):
        cache_directory()


def test_a_link_of_the_users_own_leads_to_a_cache(tmp_path, above, monkeypatch):
    (tmp_path / "link").symlink_to("above/mine")
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "link" / "cache"))
    cache_directory()
    assert (above / "mine" / "cache" / "programs").is_dir()
    above.chmod(0o777)  # what the link leads through
    with pytest.raises(UnsafeCacheDirectoryError):
        cache_directory()


@only_root
def test_a_link_that_another_user_has_made(tmp_path, monkeypatch):
    """It may lead to any folder of ours: one that we have unpacked, say."""
    tmp_path.chmod(0o1777)
    (tmp_path / "unpacked").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to("unpacked")
    os.chown(tmp_path / "cache", STRANGER, -1, follow_symlinks=False)
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(UnsafeCacheDirectoryError, match="belongs to another user"):
        cache_directory()


def test_links_in_a_circle(tmp_path, monkeypatch):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "a" / "cache"))
    with pytest.raises(UnsafeCacheDirectoryError, match="cannot be used"):
        cache_directory()


def test_dots_in_a_path_are_followed(above, monkeypatch):
    above.chmod(0o777)
    monkeypatch.setenv("DIASTASE_CACHE_DIR", f"{above.parent}/other/../above/mine/../cache")
    (above.parent / "other").mkdir()
    with pytest.raises(UnsafeCacheDirectoryError):
        cache_directory()


def test_folders_that_are_made_are_the_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "not" / "yet" / "there"))
    mask = os.umask(0)
    try:
        cache_directory()
    finally:
        os.umask(mask)
    made = [tmp_path / "not", *(tmp_path / "not").rglob("*")]
    assert len(made) == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o700}


def test_the_effective_user_is_who_counts(tmp_path, monkeypatch):
    cache_directory()
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(UnsafeCacheDirectoryError, match="belongs to another user"):
        cache_directory()


def test_what_the_user_has_written_is_believed(mlir_program, above):
    """The library of one program under the name of another, with the checksum that it has."""
    programs, entries = above / "mine" / "cache" / "programs", []
    for operation in ("add", "multiply"):
        lowered = mlir_program(TIMES_TWO.format(operation), *["float64[0]"] * 2)
        compile_module(lowered, CompileOptions())
        entries.append(set(programs.glob("*.json")).difference(*entries))
    (added,), (multiplied,) = entries
    multiplied.write_bytes(added.read_bytes())
    again = compile_module(lowered, CompileOptions())
    assert again.from_cache
    assert Executable(again.artifact)([np.array(3.0)]) == [6.0]


# --- files ---------------------------------------------------------------------------------------


def test_what_is_read_is_what_was_checked(tmp_path, monkeypatch):
    """The file is exchanged after it was opened: nothing is looked up a second time."""
    entry = tmp_path / "entry"
    entry.write_text("checked")
    fstat = os.fstat

    def exchanged(descriptor):
        status = fstat(descriptor)
        (tmp_path / "other").write_text("exchanged")
        os.replace(tmp_path / "other", entry)
        return status

    monkeypatch.setattr(trusted_files.os, "fstat", exchanged)
    assert read(entry) == b"checked"
    assert entry.read_text() == "exchanged"


@pytest.mark.parametrize(
    "kind", ["pipe", "folder", "link", "socket", "device", "huge", "hard link"]
)
def test_what_is_no_file_of_the_users_is_not_read(tmp_path, kind):
    entry, target = tmp_path / "entry", tmp_path / "target"
    target.write_text("text")
    with socket.socket(socket.AF_UNIX) as server:
        if kind == "pipe":
            os.mkfifo(entry, 0o600)
        elif kind == "folder":
            entry.mkdir(0o700)
        elif kind == "link":
            entry.symlink_to(target)
        elif kind == "socket":
            os.chdir(tmp_path)  # paths of sockets are short
            server.bind("entry")
        elif kind == "device":
            entry = Path("/dev/zero")
        elif kind == "huge":
            with entry.open("wb") as file:
                file.truncate(1 << 40)
        else:
            entry.hardlink_to(target)
            target.chmod(0o666)
        before = os.listdir("/proc/self/fd")
        with pytest.raises(OSError, match=r".") as caught:
            read(entry)
    assert isinstance(caught.value, UntrustedError) == (kind not in ("link", "socket"))
    assert len(os.listdir("/proc/self/fd")) <= len(before)


# --- temporary folders ---------------------------------------------------------------------------


def test_a_temporary_folder_in_which_others_can_rename_is_passed_over(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = temporary_folder("diastase-")
    try:
        assert made.parent != tmp_path
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
        check_way(made)
    finally:
        shutil.rmtree(made)
    monkeypatch.setattr(trusted_files, "_TEMPORARY", (str(tmp_path),))
    with pytest.raises(UnsafeTemporaryFolderError, match="TMPDIR"):
        temporary_folder("diastase-")


def test_a_sticky_temporary_folder_is_used(tmp_path, monkeypatch):
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert temporary_folder("diastase-").parent == tmp_path


@pytest.mark.parametrize("failing", ["rmdir", "unlink", "lstat"])
def test_a_temporary_folder_goes_also_where_a_call_fails_once(failing, monkeypatch):
    calls, real = [], getattr(os, failing)

    def fails_once(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 1:
            raise OSError(errno.EIO, "input/output error")
        return real(*arguments, **options)

    with temporary("diastase-") as folder:
        Path(folder, "file").touch()
        monkeypatch.setattr(os, failing, fails_once)
    monkeypatch.undo()
    assert len(calls) > 1
    assert not folder.exists()


@only_root
@pytest.mark.parametrize("trick", ["folder", "link", "mode"])
def test_intermediate_ir_is_not_written_where_others_have_prepared_it(tmp_path, trick):
    """In `/tmp`, say: links in there might lead to any file of ours."""
    place, own = tmp_path / "circuit", tmp_path / "own"
    own.mkdir()
    place.symlink_to(own) if trick == "link" else place.mkdir()
    if trick == "mode":
        place.chmod(0o777)
    else:
        os.chown(place, STRANGER, -1, follow_symlinks=False)
    chosen = workspace("circuit", CompileOptions())
    try:
        assert chosen.parent != tmp_path
    finally:
        shutil.rmtree(chosen)
    assert workspace("other", CompileOptions()) == tmp_path / "other"


def test_intermediate_ir_has_the_modes_of_the_mask(tmp_path):
    mask = os.umask(0o022)
    try:
        assert qjit(lambda x: x + x, keep_intermediate=True)(1.0) == 2.0
    finally:
        os.umask(mask)
    written = list(tmp_path.rglob("*.mlir"))
    assert written
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o644}
