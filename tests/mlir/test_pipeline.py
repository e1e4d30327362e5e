"""Stages, legality, intermediate IR, failing passes; and what compiled programs compute."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from diastase_mlir import (
    PIPELINE,
    CompileOptions,
    FailedPassError,
    compile_module,
    llvm_ir_text,
    stage_text,
)
from diastase_runtime.abi import ENTRY_SYMBOL

DOUBLE = """(%x: tensor<?xf64>) -> tensor<?xf64> {
    %result = stablehlo.add %x, %x : tensor<?xf64>
    return %result : tensor<?xf64>
}"""


FOURIER = """(%x: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
    %result = "stablehlo.fft"(%x) <{
        fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>
    }> : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> loc("fft"("/home/user/model.py":7:3))
    return %result : tensor<4xcomplex<f64>>
}"""


def test_printing_the_pipeline_names_stages_passes_and_reasons():
    text = str(PIPELINE)
    names = [stage.name for stage in PIPELINE.stages]
    assert names.index("stablehlo-to-linalg") < names.index("bufferize") < names.index("to-llvm")
    assert all(f"{stage.name}: {stage.why_here}" in text for stage in PIPELINE.stages)
    assert text.index("stablehlo-legalize-to-linalg") < text.index("stablehlo-convert-to-signless")


def test_an_operation_that_no_pass_converts_is_named_with_the_users_line(mlir_program, tmp_path):
    options = CompileOptions(use_cache=False, workspace=tmp_path)
    with pytest.raises(FailedPassError, match=r"stablehlo.fft") as caught:
        compile_module(mlir_program(FOURIER, "complex128[1]", "complex128[1]"), options)
    assert caught.value.stage == "stablehlo-to-linalg"
    assert (caught.value.span.file, caught.value.span.line) == ("/home/user/model.py", 7)


def test_what_would_abort_the_process_is_refused(mlir_program, tmp_path):
    program = mlir_program(
        """(%x: tensor<?xf64>) -> tensor<?xf64> {
            %y = stablehlo.reduce_precision %x, format = e5m10 : tensor<?xf64> loc("/u/f.py":3:1)
            return %y : tensor<?xf64>
        }""",
        "float64[1]",
        "float64[1]",
    )
    with pytest.raises(FailedPassError, match="unknown size") as caught:
        compile_module(program, CompileOptions(use_cache=False, workspace=tmp_path))
    assert caught.value.span.line == 3


def test_a_failing_pass_leaves_a_file_that_fails_again(mlir_program, tmp_path):
    program = mlir_program(
        """(%x: tensor<4xf64>, %at: tensor<4x1xi64>) -> tensor<4xf64> {
            %indices = arith.index_cast %at : tensor<4x1xi64> to tensor<4x1xindex>
            %result = tensor.gather %x[%indices] gather_dims([0])
                : (tensor<4xf64>, tensor<4x1xindex>) -> tensor<4xf64> loc("/u/f.py":3:1)
            return %result : tensor<4xf64>
        }""",
        "float64[1], int64[2]",
        "float64[1]",
    )
    with pytest.raises(FailedPassError) as caught:
        compile_module(program, CompileOptions(use_cache=False, workspace=tmp_path))
    error = caught.value
    assert error.stage == "bufferize"
    assert error.pass_name.startswith("one-shot-bufferize")
    assert error.span.line == 3
    assert str(error.reproducer) in str(error)
    command = error.reproducer.read_text().split("// rerun: ")[1].split("\n")[0].split(" ")
    assert command[0] == sys.executable
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "one-shot-bufferize" in again.stderr


def test_a_failing_program_leaves_nothing_in_the_working_directory(mlir_program, tmp_path):
    """But in a folder of its own, which the error names."""
    with pytest.raises(FailedPassError) as caught:
        compile_module(mlir_program(FOURIER, "complex128[1]", "complex128[1]"), CompileOptions())
    assert list(tmp_path.iterdir()) == []
    folder = caught.value.reproducer.parent
    assert folder.stat().st_mode & 0o077 == 0
    shutil.rmtree(folder)


def test_a_failing_program_on_a_full_disk_says_what_failed(mlir_program, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "mkdtemp", fail)
    with pytest.raises(FailedPassError, match=f"reproducer written to {os.devnull}"):
        compile_module(mlir_program(FOURIER, "complex128[1]", "complex128[1]"), CompileOptions())


def test_ir_is_kept_after_each_stage(mlir_program, tmp_path):
    options = CompileOptions(keep_intermediate="stage", workspace=tmp_path)
    compile_module(mlir_program(DOUBLE, "float64[1]", "float64[1]"), options)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[: len(PIPELINE.stages)] == [
        f"{number:02}_{stage.name}.mlir" for number, stage in enumerate(PIPELINE.stages)
    ]
    assert (
        "linalg.generic"
        in (tmp_path / names[-2])
        .with_name(next(name for name in names if "stablehlo-to-linalg" in name))
        .read_text()
    )


def test_ir_is_kept_after_each_pass(mlir_program, tmp_path):
    options = CompileOptions(keep_intermediate="pass", workspace=tmp_path)
    compile_module(mlir_program(DOUBLE, "float64[1]", "float64[1]"), options)
    for number, stage in enumerate(PIPELINE.stages):
        if stage.passes:
            folder = tmp_path / f"{number:02}_{stage.name}"
            assert len(list(folder.iterdir())) == len(stage.passes)


def test_the_default_workspace_is_a_folder_named_after_the_program(
    mlir_program, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    options = CompileOptions(keep_intermediate="stage", use_cache=False)
    compile_module(mlir_program(DOUBLE, "float64[1]", "float64[1]", name="<lambda>"), options)
    assert list((tmp_path / "lambda").iterdir())


def test_texts_of_later_forms(mlir_program):
    lowered = mlir_program(DOUBLE, "float64[1]", "float64[1]")
    assert "stablehlo.add" in lowered.text
    assert "llvm.func @diastase_entry" in stage_text(lowered, CompileOptions(), "to-llvm")
    assert f"define void @{ENTRY_SYMBOL}" in llvm_ir_text(lowered, CompileOptions())


def test_timings_name_every_stage(mlir_program):
    lowered = mlir_program(DOUBLE, "float64[1]", "float64[1]")
    timings = compile_module(lowered, CompileOptions(use_cache=False)).timings
    assert {stage.name for stage in PIPELINE.stages} < set(timings)
    assert list(timings)[-4:] == ["translate", "optimise", "emit", "link"]


def test_one_library_serves_several_sizes(load_mlir):
    program = load_mlir(DOUBLE, "float64[1]", "float64[1]")
    for size in (0, 1, 5, 10_000):
        x = np.random.default_rng(0).normal(size=size)
        (result,) = program([x])
        np.testing.assert_array_equal(result, 2 * x)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("float16", "f16"),
        ("bfloat16", "bf16"),
        ("float32", "f32"),
        ("float64", "f64"),
        ("complex64", "complex<f32>"),
        ("complex128", "complex<f64>"),
        *[(f"int{bits}", f"i{bits}") for bits in (8, 16, 32, 64)],
        *[(f"uint{bits}", f"ui{bits}") for bits in (8, 16, 32, 64)],
    ],
)
def test_arithmetic_of_every_type(load_mlir, dtype, kind):
    program = load_mlir(
        f"""(%x: tensor<?x{kind}>, %y: tensor<?x{kind}>) -> (tensor<?x{kind}>, tensor<?xi1>) {{
            %sum = stablehlo.add %x, %y : tensor<?x{kind}>
            %product = stablehlo.multiply %sum, %y : tensor<?x{kind}>
            %equal = stablehlo.compare EQ, %x, %y
                : (tensor<?x{kind}>, tensor<?x{kind}>) -> tensor<?xi1>
            return %product, %equal : tensor<?x{kind}>, tensor<?xi1>
        }}""",
        f"{dtype}[1], {dtype}[1]",
        f"{dtype}[1], bool[1]",
    )
    from_name = program.layout.types[0][0]
    x = np.array([1, 2, 3, 100, 200]).astype(from_name)
    y = np.array([1, 3, 3, 100, 7]).astype(from_name)
    product, equal = program([x, y])
    np.testing.assert_allclose(product.astype("complex128"), ((x + y) * y).astype("complex128"))
    assert product.dtype == from_name
    np.testing.assert_array_equal(equal, x == y)


@pytest.mark.parametrize(("dtype", "kind"), [("uint8", "ui8"), ("uint32", "ui32")])
def test_unsigned_stays_unsigned(load_mlir, dtype, kind):
    program = load_mlir(
        f"""(%x: tensor<2x{kind}>, %y: tensor<2x{kind}>) -> (tensor<2x{kind}>, tensor<2xi1>) {{
            %quotient = stablehlo.divide %x, %y : tensor<2x{kind}>
            %less = stablehlo.compare LT, %x, %y
                : (tensor<2x{kind}>, tensor<2x{kind}>) -> tensor<2xi1>
            return %quotient, %less : tensor<2x{kind}>, tensor<2xi1>
        }}""",
        f"{dtype}[1], {dtype}[1]",
        f"{dtype}[1], bool[1]",
    )
    x = np.array([np.iinfo(dtype).max, 3], dtype)
    y = np.array([2, np.iinfo(dtype).max], dtype)
    quotient, less = program([x, y])
    np.testing.assert_array_equal(quotient, x // y)
    np.testing.assert_array_equal(less, x < y)
