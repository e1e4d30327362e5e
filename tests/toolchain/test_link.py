"""The system's linker: found, named by DIASTASE_CC, missing, or broken."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from diastase_mlir import CompileOptions, LinkerNotFoundError, LinkError, compile_module
from diastase_runtime import Executable
from diastase_toolchain import linker

ADD = """(%x: tensor<f64>) -> tensor<f64> {
    %result = stablehlo.add %x, %x : tensor<f64>
    return %result : tensor<f64>
}"""
CALL = """(%x: tensor<f64>) -> tensor<f64> {{
    %number = tensor.extract %x[] : tensor<f64>
    %called = func.call @{0}(%number) : (f64) -> f64
    %result = tensor.from_elements %called : tensor<f64>
    return %result : tensor<f64>
}}
func.func private @{0}(f64) -> f64
"""
UNCACHED = CompileOptions(use_cache=False)


def test_a_missing_linker_says_what_to_install(mlir_program, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LinkerNotFoundError, match="apt install binutils"):
        compile_module(mlir_program(ADD, "float64[0]", "float64[0]"), UNCACHED)


def test_a_named_driver_that_does_not_exist(mlir_program, monkeypatch):
    monkeypatch.setenv("DIASTASE_CC", "no-such-compiler")
    with pytest.raises(LinkerNotFoundError, match="no-such-compiler"):
        compile_module(mlir_program(ADD, "float64[0]", "float64[0]"), UNCACHED)


def test_a_driver_that_fails(mlir_program, monkeypatch):
    monkeypatch.setenv("DIASTASE_CC", "false")
    with pytest.raises(LinkError, match="exit status 1"):
        compile_module(mlir_program(ADD, "float64[0]", "float64[0]"), UNCACHED)


@pytest.fixture
def linker_that(tmp_path, monkeypatch):
    """`linker_that(script)`: a linker that is a script of the shell."""

    def write(script: str) -> None:
        path = tmp_path / "my-ld"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("DIASTASE_CC", str(path))

    return write


OUTPUT = 'while [ "$1" != -o ]; do shift; done'


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("printf 'no \\377' >&2; exit 1", "no \N{REPLACEMENT CHARACTER}"),
        ("kill -9 $$", "exit status -9"),
        ("true", "No such file|no whole library"),
        (f"{OUTPUT}; echo garbage > $2", "no whole library"),
        (f'ld "$@"; {OUTPUT}; truncate -s -1 $2', "no whole library"),
        (f'ld "$@"; {OUTPUT}; truncate -s 40 $2', "no whole library"),
    ],
)
@pytest.mark.parametrize("cached", [True, False])
def test_a_linker_that_does_something_else(
    mlir_program, linker_that, tmp_path, monkeypatch, script, reason, cached
):
    """What it has written is not kept: the next one finds the cache empty."""
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DIASTASE_CACHE", str(int(cached)))
    linker_that(script)
    lowered = mlir_program(ADD, "float64[0]", "float64[0]")
    with pytest.raises(LinkError, match=reason):
        compile_module(lowered, CompileOptions())
    assert not [*tmp_path.rglob("*.so"), *tmp_path.rglob("*.o"), *tmp_path.rglob("programs/*.json")]
    monkeypatch.delenv("DIASTASE_CC")
    compilation = compile_module(lowered, CompileOptions())
    assert Executable(compilation.artifact)([np.array(4.0)]) == [8.0]


@pytest.mark.parametrize("script", ["exec sleep 600", "sleep 600; true"])
def test_a_linker_that_hangs_is_ended_with_its_own_processes(
    mlir_program, linker_that, tmp_path, monkeypatch, script
):
    monkeypatch.setattr(linker, "PATIENCE", 0.2)
    linker_that(f"echo $$ > {tmp_path}/group; {script}")
    with pytest.raises(LinkError, match="had not ended after 0 seconds"):
        compile_module(mlir_program(ADD, "float64[0]", "float64[0]"), UNCACHED)
    group = int((tmp_path / "group").read_text())
    assert _is_gone(group)


def _is_gone(group: int) -> bool:
    """Whether the processes of a group end within seconds: they have been killed."""
    for _ in range(500):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_ctrl_c_ends_a_linker_that_hangs(linker_that, tmp_path):
    """And the process, which leaves nothing behind."""
    linker_that(f"echo $$ > {tmp_path}/begun; mv {tmp_path}/begun {tmp_path}/group; sleep 600")
    environment = {**os.environ, "DIASTASE_CACHE_DIR": str(tmp_path / "cache")}
    process = subprocess.Popen([sys.executable, "-c", _COMPILES], env=environment)
    while not (tmp_path / "group").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.wait(60)
    assert _is_gone(int((tmp_path / "group").read_text()))
    assert not list((tmp_path / "cache" / "programs" / "building").iterdir())


_COMPILES = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
from diastase_toolchain import background, cache, linker
from diastase_runtime.abi import Artifact
from pathlib import Path
store = cache.program_cache()
work = lambda: store.add("key", Artifact("f", Path(), (), ()), lambda path: linker.link(b"", path))
background.in_background(work)
"""


@pytest.mark.parametrize("name", ["__truncdfhf2", "Py_IncRef", "no_such_function"])
def test_what_is_not_in_the_c_library_is_found_here(mlir_program, name):
    with pytest.raises(LinkError, match=f"undefined symbols: {name}"):
        compile_module(mlir_program(CALL.format(name), "float64[0]", "float64[0]"), UNCACHED)


@pytest.mark.parametrize("driver", ["ld", "ld.gold", "ld.lld", "mold", "cc", "gcc", "clang"])
def test_linkers(load_mlir, monkeypatch, driver):
    if shutil.which(driver) is None:
        pytest.skip(f"no {driver} on this machine")
    monkeypatch.setenv("DIASTASE_CC", driver)
    assert load_mlir(CALL.format("exp2"), "float64[0]", "float64[0]")([np.array(3.0)]) == [8.0]
