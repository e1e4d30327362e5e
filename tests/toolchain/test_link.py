"""The system's linker: found, named by DIASTASE_CC, missing, or broken."""

import shutil

import numpy as np
import pytest

from diastase_mlir import CompileOptions, LinkerNotFoundError, LinkError, compile_module

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
