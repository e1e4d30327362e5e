"""The system's linker: found, named by DIASTASE_CC, missing, or broken."""

import shutil

import numpy as np
import pytest

from diastase_mlir import CompileOptions, LinkerNotFoundError, LinkError, compile_module
from diastase_runtime import load

ADD = """(%x: tensor<f64>) -> tensor<f64> {
    %result = stablehlo.add %x, %x : tensor<f64>
    return %result : tensor<f64>
}"""
UNCACHED = CompileOptions(use_cache=False)


def test_a_missing_linker_says_what_to_install(mlir_program, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LinkerNotFoundError, match="apt install binutils"):
        compile_module(mlir_program(ADD, "float64[0]", "float64[0]"), UNCACHED)


def test_the_named_driver_is_used(mlir_program, monkeypatch):
    driver = shutil.which("cc")
    if driver is None:
        pytest.skip("no C compiler driver on this machine")
    monkeypatch.setenv("DIASTASE_CC", driver)
    lowered = mlir_program(ADD, "float64[0]", "float64[0]")
    program = load(compile_module(lowered, UNCACHED).artifact)
    assert program([np.array(1.5)]) == [3.0]


def test_a_named_driver_that_does_not_exist(mlir_program, monkeypatch):
    monkeypatch.setenv("DIASTASE_CC", "no-such-compiler")
    with pytest.raises(LinkerNotFoundError, match="no-such-compiler"):
        compile_module(mlir_program(ADD, "float64[0]", "float64[0]"), UNCACHED)


def test_a_driver_that_fails(mlir_program, monkeypatch):
    monkeypatch.setenv("DIASTASE_CC", "false")
    with pytest.raises(LinkError, match="exit status 1"):
        compile_module(mlir_program(ADD, "float64[0]", "float64[0]"), UNCACHED)
