"""Variables and names that are hostile, or odd: nothing but what is meant is run or written."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from diastase import debug, qjit
from diastase_mlir import CacheWarning, CompileOptions, cache_directory, compile_module
from diastase_runtime import Executable, process_limits, trusted_files
from diastase_runtime.errors import InvalidThreadsError
from diastase_runtime.standalone import string
from diastase_toolchain.errors import LinkerNotFoundError, UnsafeCacheDirectoryError
from diastase_toolchain.linker import find_program

TIMES_TWO = """(%x: tensor<f64>) -> tensor<f64> {
    %result = stablehlo.add %x, %x : tensor<f64>
    return %result : tensor<f64>
}"""
TYPES = ("float64[0]", "float64[0]")
TRAP = "$(touch trap)`touch trap`;touch trap;'\"\n@trap %s {0} -o"


@pytest.fixture
def no_home(monkeypatch):
    """A user whom the system does not know, as in many containers, and no variables."""

    def unknown(_):
        raise KeyError

    monkeypatch.setattr(trusted_files.pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME", "DIASTASE_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("home", [None, ".", "home"])
def test_without_a_home_folder_there_is_no_cache(no_home, monkeypatch, tmp_path, home):
    if home is not None:
        monkeypatch.setenv("HOME", home)
    with pytest.warns(CacheWarning, match="home folder that is not known"):
        assert cache_directory() is None
    assert not list(tmp_path.iterdir())


def test_a_home_folder_that_there_is_not(no_home, monkeypatch, tmp_path):
    monkeypatch.setenv("DIASTASE_CACHE_DIR", "~no-such-user/cache")
    with pytest.raises(UnsafeCacheDirectoryError, match="home folder that is not known"):
        cache_directory()
    assert not list(tmp_path.iterdir())


def test_relative_folders(no_home, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == tmp_path / ".cache" / "diastase"
    monkeypatch.setenv("DIASTASE_CACHE_DIR", "relative")
    assert cache_directory() == tmp_path / "relative"


@pytest.mark.parametrize("name", [TRAP, "-o", "@file", "jos\udce9", "é" * 100])
def test_a_cache_directory_of_any_name(mlir_program, monkeypatch, tmp_path, name):
    monkeypatch.setenv("DIASTASE_CACHE_DIR", name)
    lowered = mlir_program(TIMES_TWO, *TYPES)
    assert not compile_module(lowered, CompileOptions()).from_cache
    compilation = compile_module(lowered, CompileOptions())
    assert compilation.from_cache
    assert Executable(compilation.artifact)([np.array(4.0)]) == [8.0]
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["$ORIGIN/cache", "${LIB}", "a$PLATFORM"])
def test_a_cache_directory_that_the_dynamic_linker_would_look_for_elsewhere(monkeypatch, name):
    monkeypatch.setenv("DIASTASE_CACHE_DIR", name)
    with pytest.raises(UnsafeCacheDirectoryError, match="dynamic linker"):
        cache_directory()


def test_a_cache_directory_whose_name_is_too_long(monkeypatch):
    monkeypatch.setenv("DIASTASE_CACHE_DIR", "x" * 10_000)
    with pytest.raises(UnsafeCacheDirectoryError, match="cannot be used"):
        cache_directory()


@pytest.mark.parametrize("command", ["cc -B.", "cc;touch trap", "$(touch trap)", "", "./no-such"])
def test_the_variable_names_a_program_and_is_no_command(
    mlir_program, monkeypatch, tmp_path, command
):
    monkeypatch.setenv("DIASTASE_CC", command)
    monkeypatch.setenv("PATH", str(tmp_path) if command else "")
    with pytest.raises(LinkerNotFoundError):
        compile_module(mlir_program(TIMES_TWO, *TYPES), CompileOptions(use_cache=False))
    assert not list(tmp_path.iterdir())


def test_programs_in_the_working_directory_are_not_meant(monkeypatch, tmp_path):
    planted = tmp_path / "planted"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    for path in (".", "", ":", "./", f"relative:{os.defpath}:"):
        monkeypatch.setenv("PATH", path)
        assert find_program("planted") is None
    monkeypatch.setenv("PATH", f".:{tmp_path}")
    assert find_program("planted") == str(planted)
    assert find_program("./planted") == "./planted"


@pytest.mark.parametrize("text", ["9" * 5000, "0" * 5000 + "1", "-1", "1e3", "٣", "1 2"])
def test_a_number_of_threads_that_is_none(monkeypatch, text):
    monkeypatch.setenv("DIASTASE_NUM_THREADS", text)
    with pytest.raises(InvalidThreadsError):
        process_limits.number_of_threads()


# --- names of functions and files ----------------------------------------------------------------

NAMES = [
    "../../up", "/etc/x", "..", "-o", TRAP, "nul\0nul", "*\\\n/ int evil; /*", "*/ int evil; /*",
    "??/", "\u202e\U0001f600é", "x" * 10_000, "jos\udce9", "\ud800", "$name", "",
]  # fmt: skip


def double(x):
    """Is given each of the names."""
    return x + x


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_functions_and_files_of_any_name(monkeypatch, tmp_path, name):
    code = double.__code__.replace(co_name=name, co_qualname=name, co_filename=f"/no/{name}.py")
    function = type(double)(code, {}, name)
    function.__qualname__ = name
    compiled = qjit(function, keep_intermediate=True)
    assert compiled(1.5) == 3.0
    text = debug.get_cmain(compiled, 1.5)
    _, _, behind = text.replace("\\\n", "").partition("*/")  # as C reads it, line by line
    assert behind.lstrip().startswith("#define")
    assert text.isascii()
    (folder,) = tmp_path.iterdir()
    assert re.fullmatch(r"[\w-][\w.-]*", folder.name)
    assert compiled.workspace == folder


def test_an_executable_of_a_function_of_any_name(tmp_path):
    double.__name__ = TRAP
    try:
        compiled = qjit(double)
        binary = debug.compile_executable(compiled, 1.5)
    finally:
        double.__name__ = "double"
    assert subprocess.run([binary], capture_output=True, text=True).stdout == "3.0\n"
    assert not (tmp_path / "trap").exists()
    assert Path(binary).parent.parent == tmp_path


def test_a_string_of_c_is_its_text():
    assert string('"\\\n?é') == '"\\"\\\\\\n\\?\\303\\251"'
    assert string("jos\udce9") == '"jos\\351"'  # the bytes of a path
    assert string("\ud800") == '"\\\\ud800"'
