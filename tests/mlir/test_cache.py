"""The disk cache: hits, keys, corruption, unsafe directories, parallel writers, the off switch."""

import gc
import os
import stat
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from diastase_mlir import CacheWarning, CompileOptions, cache_directory, compile_module
from diastase_mlir.errors import UnsafeCacheDirectoryError
from diastase_runtime import load
from diastase_runtime.abi import Site

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
    assert load(second.artifact)([np.array(4.0)]) == [8.0]
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
@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "text"])
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
    }
    file.unlink()  # a new file: this process may have the old one loaded
    file.write_bytes(damaged[damage])
    with pytest.warns(CacheWarning, match=r"corrupted cache entry.*\.json"):
        again = compile_it(lowered)
    assert not again.from_cache
    assert load(again.artifact)([np.array(4.0)]) == [8.0]
    assert compile_it(lowered).from_cache


def test_a_missing_library_is_compiled_anew(mlir_program, directory):
    lowered = mlir_program(TIMES_TWO, *TYPES)
    compile_it(lowered)
    next(directory.rglob("*.so")).unlink()
    with pytest.warns(CacheWarning, match="corrupted"):
        assert not compile_it(lowered).from_cache


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_directory_that_others_can_write_is_refused(mlir_program, directory, mode):
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(UnsafeCacheDirectoryError, match="can be written by others") as caught:
        compile_it(mlir_program(TIMES_TWO, *TYPES))
    assert f"chmod 700 {directory}" in str(caught.value)


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
    assert load(compilation.artifact)([np.array(4.0)]) == [8.0]


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
        assert load(compilation.artifact)([np.array(4.0)]) == [8.0]
    assert not list(directory.rglob(".building-*"))
