"""The disk cache: hits, keys, corruption, unsafe directories, parallel writers, the off switch."""

import errno
import gc
import hashlib
import json
import os
import stat
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from diastase_mlir import CacheWarning, CompileOptions, cache_directory, compile_module
from diastase_runtime import Executable, trusted_files
from diastase_runtime.abi import ON_THE_POOL, Artifact, Site
from diastase_toolchain import cache, source_hash
from diastase_toolchain.errors import LinkError, UnsafeCacheDirectoryError
from diastase_toolchain.machine_code import emit_object

TIMES_TWO = """(%x: tensor<f64>) -> tensor<f64> {
    %result = stablehlo.add %x, %x : tensor<f64>
    return %result : tensor<f64>
}"""
TYPES = ("float64[0]", "float64[0]")


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A cache directory of this test alone."""
    path = tmp_path / "cache"
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(path))
    return path


def compile_it(lowered):
    return compile_module(lowered, CompileOptions())


def test_the_second_compilation_is_a_hit(mlir_program, directory):
    lowered = mlir_program(TIMES_TWO, *TYPES)
    first, second = compile_it(lowered), compile_it(lowered)
    assert (first.from_cache, second.from_cache) == (False, True)
    assert first.artifact == second.artifact
    assert Executable(second.artifact)([np.array(4.0)]) == [8.0]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_locations_and_names_do_not_matter_but_stay_the_programs_own(mlir_program, directory):
    def placed(line: int, name: str):
        text = TIMES_TWO.replace(" : tensor<f64>\n", f' : tensor<f64> loc("/u/f.py":{line}:1)\n', 1)
        sites = (Site("/u/f.py", line, name, "add"),)
        return mlir_program(text, *TYPES, name=name, sites=sites)

    first, second = compile_it(placed(3, "f")), compile_it(placed(9, "g"))
    assert second.from_cache
    assert second.artifact.library == first.artifact.library
    assert (second.artifact.name, second.artifact.sites[0].line) == ("g", 9)


def test_other_programs_and_types_miss(mlir_program, directory):
    compile_it(mlir_program(TIMES_TWO, *TYPES))
    assert not compile_it(mlir_program(TIMES_TWO.replace("add", "multiply"), *TYPES)).from_cache


@pytest.mark.parametrize("suffix", [".so", ".json"])
@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "text", "nested"])
def test_a_damaged_entry_is_reported_and_replaced(mlir_program, directory, suffix, damage):
    lowered = mlir_program(TIMES_TWO, *TYPES)
    compile_it(lowered)
    (file,) = directory.rglob(f"*{suffix}")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    damaged = {
        "truncate": content[: len(content) // 2],
        "flip": content,
        "empty": b"",
        "text": b"[1, 2]",
        "nested": b"[" * 100_000,
    }
    file.unlink()  # a new file: this process may have the old one loaded
    file.write_bytes(damaged[damage])
    with pytest.warns(CacheWarning, match=r"corrupted cache entry.*\.json"):
        again = compile_it(lowered)
    assert not again.from_cache
    assert Executable(again.artifact)([np.array(4.0)]) == [8.0]
    assert compile_it(lowered).from_cache


def test_a_missing_library_is_compiled_anew(mlir_program, directory):
    lowered = mlir_program(TIMES_TWO, *TYPES)
    compile_it(lowered)
    next(directory.rglob("*.so")).unlink()
    with pytest.warns(CacheWarning, match="corrupted"):
        assert not compile_it(lowered).from_cache


def test_an_entry_that_cannot_be_asked_for_is_compiled_anew(mlir_program, directory, monkeypatch):
    """Neither read nor looked at: an error of the disk is no error of the program."""
    lowered = mlir_program(TIMES_TWO, *TYPES)
    compile_it(lowered)
    stat = os.stat

    def fail(path, **options):
        if str(path).endswith(".json") and str(directory) in str(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return stat(path, **options)

    def gone(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "stat", fail)
    monkeypatch.setattr(trusted_files, "read", gone)
    assert not compile_it(lowered).from_cache


@pytest.mark.parametrize("path", ["{0}", "../programs/{1}", "..", "other/{1}"])
def test_an_entry_leads_to_a_library_beside_it_only(mlir_program, directory, path):
    """With the right checksum of a library that is elsewhere, or is named as if it were."""
    lowered = mlir_program(TIMES_TWO, *TYPES)
    library = compile_it(lowered).artifact.library
    (record,) = directory.rglob("*.json")
    entry = json.loads(record.read_text())
    artifact = json.loads(entry["artifact"]) | {"library": path.format(library, library.name)}
    text = json.dumps(artifact)
    checksum = hashlib.sha256(text.encode() + library.read_bytes()).hexdigest()
    record.write_text(json.dumps({"artifact": text, "checksum": checksum}))
    with pytest.warns(CacheWarning, match="corrupted"):
        assert not compile_it(lowered).from_cache


@pytest.mark.parametrize("suffix", [".so", ".json"])
@pytest.mark.parametrize("trick", ["mode", "owner", "link", "pipe"])
def test_a_file_that_others_may_have_written(mlir_program, directory, monkeypatch, suffix, trick):
    lowered = mlir_program(TIMES_TWO, *TYPES)
    compile_it(lowered)
    (file,) = directory.rglob(f"*{suffix}")
    if trick == "mode":
        file.chmod(0o666)
    elif trick == "owner":
        strangers = {file.stat().st_ino}
        monkeypatch.setattr(
            trusted_files.os, "fstat", lambda fd: _of_another(os.stat(fd), strangers)
        )
    else:
        moved = file.rename(directory.parent / "moved")
        file.symlink_to(moved) if trick == "link" else os.mkfifo(file, 0o600)
    reason = {"mode": "can be written by others", "owner": "belongs to another user"}
    with pytest.warns(CacheWarning, match=reason.get(trick, "cache entry, compiling anew")):
        assert not compile_it(lowered).from_cache
    monkeypatch.undo()
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(directory))
    assert compile_it(lowered).from_cache


def _of_another(status: os.stat_result, strangers: set[int]) -> os.stat_result:
    values = list(status)
    values[stat.ST_UID] += status.st_ino in strangers
    return os.stat_result(values)


def test_what_is_written_is_the_users_alone_whatever_the_mask(mlir_program, directory):
    mask = os.umask(0)
    try:
        compile_it(mlir_program(TIMES_TWO, *TYPES))
    finally:
        os.umask(mask)
    for path in directory.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert compile_it(mlir_program(TIMES_TWO, *TYPES)).from_cache


@pytest.mark.parametrize("mode", [0o777, 0o770])
@pytest.mark.parametrize("folder", ["", "programs"])
def test_a_directory_that_others_can_write_is_refused(mlir_program, directory, mode, folder):
    lowered = mlir_program(TIMES_TWO, *TYPES)
    compile_it(lowered)
    (directory / folder).chmod(mode)
    with pytest.raises(UnsafeCacheDirectoryError, match="can be written by others") as caught:
        compile_it(lowered)
    assert f"chmod 700 {directory / folder}" in str(caught.value)


def test_a_directory_of_another_user_is_refused(directory, monkeypatch):
    directory.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: directory.stat().st_uid + 1)
    with pytest.raises(UnsafeCacheDirectoryError, match="belongs to another user"):
        cache_directory()


def test_a_file_in_place_of_the_directory(directory):
    directory.write_text("")
    with pytest.raises(UnsafeCacheDirectoryError, match="cannot be used"):
        cache_directory()


def test_an_unsafe_default_directory_is_given_up_with_a_warning(
    mlir_program, tmp_path, monkeypatch
):
    monkeypatch.delenv("DIASTASE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "diastase").mkdir()
    (tmp_path / "diastase").chmod(0o777)
    with pytest.warns(CacheWarning, match="without a disk cache"):
        compilation = compile_it(mlir_program(TIMES_TWO, *TYPES))
    assert not list((tmp_path / "diastase").iterdir())
    assert Executable(compilation.artifact)([np.array(4.0)]) == [8.0]


@pytest.mark.parametrize("switch", ["environment", "option"])
def test_switched_off_nothing_is_kept(mlir_program, directory, monkeypatch, switch):
    if switch == "environment":
        monkeypatch.setenv("DIASTASE_CACHE", "0")
    lowered = mlir_program(TIMES_TWO, *TYPES)
    options = CompileOptions(use_cache=switch == "environment")
    compilation = compile_module(lowered, options)
    library = compilation.artifact.library
    assert library.exists()
    assert not directory.exists() or not list(directory.rglob("*.so"))
    assert not compile_module(lowered, options).from_cache
    del compilation
    gc.collect()
    assert not library.exists()


def test_parallel_compilations_of_one_program(mlir_program, directory):
    lowered = mlir_program(TIMES_TWO, *TYPES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as threads:
            compilations = list(threads.map(compile_it, [lowered] * 16))
    for compilation in compilations:
        assert Executable(compilation.artifact)([np.array(4.0)]) == [8.0]
    assert not list((directory / "programs" / "building").iterdir())


def test_what_killed_processes_were_building_is_removed(mlir_program, directory):
    compile_it(mlir_program(TIMES_TWO, *TYPES))
    building = directory / "programs" / "building"
    for name, age in (("abandoned", 7200), ("at work", 60)):
        (building / name).mkdir()
        (building / name / "program.o").write_text("half of it")
        note = directory / f"{source_hash.UNFINISHED}{name}"
        note.write_text("half of a note")
        for path in (building / name, note):
            os.utime(path, (time.time() - age,) * 2)
    compile_it(mlir_program(TIMES_TWO.replace("add", "multiply"), *TYPES))
    assert [path.name for path in building.iterdir()] == ["at work"]
    assert [path.name for path in directory.glob("unf*")] == ["unfinished-at work"]


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _link_error(library):
    return LinkError(command="ld", reason=f"{library}: final close failed: No space left")


@pytest.mark.parametrize("refused", ["folder", "scratch", "object", "library", "rename"])
def test_on_a_full_disk_programs_are_compiled_without_a_cache(
    mlir_program, directory, monkeypatch, refused
):
    def fail_there(original):
        def replacement(path, *arguments, **keywords):
            if str(directory) in str(path):
                raise _link_error(path) if refused == "library" else FULL
            return original(path, *arguments, **keywords)

        return replacement

    if refused == "folder":
        monkeypatch.setattr(Path, "mkdir", fail_there(Path.mkdir))
    elif refused == "scratch":
        monkeypatch.setattr(tempfile, "TemporaryDirectory", lambda dir: fail_there(print)(dir))
    elif refused == "rename":
        monkeypatch.setattr(Path, "replace", fail_there(Path.replace))
    else:
        monkeypatch.setattr(Path, "write_bytes", fail_there(Path.write_bytes))
    with pytest.warns(CacheWarning, match="without a disk cache.*No space left"):
        compilation = compile_it(mlir_program(TIMES_TWO, *TYPES))
    assert Executable(compilation.artifact)([np.array(4.0)]) == [8.0]
    assert not list(directory.glob("programs/*.json"))


def test_what_cannot_be_linked_is_optimised_once(mlir_program, directory, monkeypatch):
    emitted = []
    monkeypatch.setattr(
        "diastase_mlir.driver.compilation.emit_object",
        lambda code: emitted.append(1) or emit_object(code),
    )
    monkeypatch.setenv("DIASTASE_CC", "false")
    with pytest.raises(LinkError):
        compile_it(mlir_program(TIMES_TWO, *TYPES))
    assert emitted == [1]


def test_sources_that_change_under_the_process(mlir_program, directory, monkeypatch):
    """What is compiled by neither the old sources nor the new is not stored under either's key."""
    lowered = mlir_program(TIMES_TWO, *TYPES)
    monkeypatch.setattr(cache, "_IMPORTED", 0.0)
    monkeypatch.setattr(cache, "_unchanged_with", [0])
    compilation = compile_it(lowered)
    assert Executable(compilation.artifact)([np.array(4.0)]) == [8.0]
    assert not list(directory.rglob("*.so"))


def test_sources_that_are_taken_away_under_the_process(mlir_program, directory, monkeypatch):
    """As by an installer that is replacing us."""
    lowered = mlir_program(TIMES_TWO, *TYPES)
    monkeypatch.setattr(cache, "_own_sources", lambda: ["/no/such/file.py"])
    monkeypatch.setattr(cache, "_unchanged_with", [0])
    monkeypatch.setattr(cache, "toolchain_version", cache.toolchain_version.__wrapped__)
    compilation = compile_it(lowered)
    assert Executable(compilation.artifact)([np.array(4.0)]) == [8.0]
    assert not list(directory.rglob("*.so"))


@pytest.mark.parametrize("switch", ["0", "1"])
def test_nowhere_to_write_is_an_error_of_ours(mlir_program, directory, monkeypatch, switch):
    monkeypatch.setenv("DIASTASE_CACHE", switch)

    def fail(*_, **__):
        raise FULL

    monkeypatch.setattr(tempfile, "mkstemp", fail)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", fail)
    with pytest.raises(LinkError, match=r"making a temporary file.*No space left"):
        compile_it(mlir_program(TIMES_TWO, *TYPES))


def test_what_cannot_be_built_without_a_cache_leaves_no_file(mlir_program, directory, monkeypatch):
    monkeypatch.setenv("DIASTASE_CC", "false")
    private = cache._private_directory(os.getpid())
    before = set(private.iterdir())
    with pytest.raises(LinkError):
        compile_it(mlir_program(TIMES_TWO, *TYPES))
    gc.collect()
    assert set(private.iterdir()) <= before
    assert not list(directory.rglob("tmp*"))


def test_an_entry_does_not_say_where_other_libraries_are(directory):
    """Which may be elsewhere by the time that it is found."""
    others = dict.fromkeys((*ON_THE_POOL, "threads", "elementary"), Path("/elsewhere.so"))
    artifact = Artifact("f", Path(), (), (), **others)
    store = cache.program_cache()
    store.add("key", artifact, lambda path: path.write_bytes(b"library") and None)
    assert "elsewhere" not in (directory / "programs" / "key.json").read_text()
