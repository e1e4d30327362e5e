"""Calls of loaded programs: arguments, results and who owns them, errors, threads, memory."""

import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diastase_mlir import CompileOptions, compile_module
from diastase_runtime import EngineWork, Executable
from diastase_runtime.abi import Artifact, CallContext, ErrorCode, Site
from diastase_runtime.arrays.memref import data_pointer
from diastase_runtime.errors import (
    ArgumentTypeError,
    DiastaseError,
    InternalError,
    LibraryLoadError,
    OutOfMemoryError,
    WireOutOfRangeError,
    ZeroStepError,
)
from diastase_runtime.libraries import open_library
from diastase_runtime.process_limits import available_memory
from soak.measures import resident

ADD_ONE = """(%x: tensor<?xf64>) -> tensor<?xf64> {
    %result = stablehlo.add %x, %x : tensor<?xf64>
    return %result : tensor<?xf64>
}"""

UPDATE_IN_LOOP = """(%x: tensor<?xf64>, %value: tensor<f64>) -> tensor<?xf64> {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %size = tensor.dim %x, %zero : tensor<?xf64>
    %scalar = tensor.extract %value[] : tensor<f64>
    %result = scf.for %i = %zero to %size step %one iter_args(%y = %x) -> tensor<?xf64> {
        %next = tensor.insert %scalar into %y[%i] : tensor<?xf64>
        scf.yield %next : tensor<?xf64>
    }
    return %result : tensor<?xf64>
}"""


def recording(code: ErrorCode, site: int, *detail: int) -> str:
    """A program that records an error and returns its argument."""
    stores = {
        CallContext.code.offset: code,
        CallContext.site.offset: site,
        **{CallContext.detail.offset + 8 * k: number for k, number in enumerate(detail)},
    }
    lines = [
        f"""
        %p{offset} = llvm.getelementptr %context[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8
        %v{offset} = llvm.mlir.constant({int(number)} : i64) : i64
        llvm.store %v{offset}, %p{offset} : i64, !llvm.ptr"""
        for offset, number in stores.items()
    ]
    return f"""(%x: tensor<?xf64>) -> tensor<?xf64> {{ {"".join(lines)}
        return %x : tensor<?xf64>
    }}"""


def test_an_argument_returned_is_a_copy(load_mlir):
    program = load_mlir(
        "(%x: tensor<?xf64>) -> tensor<?xf64> { return %x : tensor<?xf64> }",
        "float64[1]",
        "float64[1]",
    )
    for size in (0, 3, 10_000):
        x = np.arange(float(size))
        (result,) = program([x])
        np.testing.assert_array_equal(result, x)
        assert not np.shares_memory(result, x)
        result += 1
        np.testing.assert_array_equal(x, np.arange(float(size)))


def test_a_constant_returned_can_be_written(load_mlir):
    program = load_mlir(
        """() -> (tensor<2xi32>, tensor<f64>) {
            %array = arith.constant dense<[1, 2]> : tensor<2xi32>
            %scalar = arith.constant dense<1.5> : tensor<f64>
            return %array, %scalar : tensor<2xi32>, tensor<f64>
        }""",
        "",
        "int32[1], float64[0]",
    )
    for _ in range(2):
        array, scalar = program([])
        np.testing.assert_array_equal(array, np.array([1, 2], np.int32))
        assert scalar == 1.5
        array[:] = 7


@pytest.mark.parametrize("size", [2, 10_000])
def test_the_same_value_returned_twice(load_mlir, size):
    program = load_mlir(
        """(%x: tensor<?xf64>) -> (tensor<?xf64>, tensor<?xf64>, tensor<?xf64>) {
            %y = stablehlo.add %x, %x : tensor<?xf64>
            return %y, %x, %y : tensor<?xf64>, tensor<?xf64>, tensor<?xf64>
        }""",
        "float64[1]",
        "float64[1], float64[1], float64[1]",
    )
    x = np.ones(size)
    first, copy, second = program([x])
    assert not np.shares_memory(first, second)
    first += 1
    del first
    gc.collect()
    np.testing.assert_array_equal(second, 2 * x)
    np.testing.assert_array_equal(copy, x)


def test_arguments_are_not_written_to(load_mlir):
    program = load_mlir(UPDATE_IN_LOOP, "float64[1], float64[0]", "float64[1]")
    x = np.arange(5.0)
    x.flags.writeable = False
    (result,) = program([x, np.array(7.0)])
    np.testing.assert_array_equal(result, np.full(5, 7.0))
    np.testing.assert_array_equal(x, np.arange(5.0))


def test_results_outlive_the_program(load_mlir):
    program = load_mlir(ADD_ONE, "float64[1]", "float64[1]")
    (result,) = program([np.ones(100_000)])
    view = result[5:10]
    del program, result
    gc.collect()
    np.testing.assert_array_equal(view, np.full(5, 2.0))


def test_strided_and_unaligned_arguments_are_copied(load_mlir):
    program = load_mlir(ADD_ONE, "float64[1]", "float64[1]")
    x = np.arange(10.0)
    np.testing.assert_array_equal(program([x[::-2]])[0], 2 * x[::-2])
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.float64, offset=1)
    np.testing.assert_array_equal(program([unaligned])[0], 2 * x)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [np.ones(3, np.float32)],
        [np.ones((3, 3))],
        [np.ones(3, ">f8")],
        [np.ones(3), np.ones(3)],
    ],
)
def test_wrong_arguments_are_refused(load_mlir, arguments):
    program = load_mlir(ADD_ONE, "float64[1]", "float64[1]")
    with pytest.raises(ArgumentTypeError, match=r"compiled for \(float64\[rank 1\]\)"):
        program(arguments)
    np.testing.assert_array_equal(program([np.ones(1)])[0], [2.0])


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "int8", "bool"])
def test_numbers_of_python_stand_for_arrays_of_rank_0(load_mlir, dtype):
    element = {"float64": "f64", "float32": "f32", "complex128": "complex<f64>", "bool": "i1"}
    kind = f"tensor<{element.get(dtype) or dtype.replace('int', 'i')}>"
    program = load_mlir(
        f"(%x: {kind}) -> {kind} {{ return %x : {kind} }}", f"{dtype}[0]", f"{dtype}[0]"
    )
    for number in {"b": [True, False], "i": [3, -2, True]}.get(np.dtype(dtype).kind, [1.5, -2]):
        (result,) = program([number])
        assert (result.dtype, result.shape) == (np.dtype(dtype), ())
        assert result == np.asarray(number, dtype)
    with pytest.raises(ArgumentTypeError):
        program(["no number"])
    if dtype == "int64":
        with pytest.raises(OverflowError):
            program([2**70])
        assert program([2**62])[0] == 2**62


def test_addresses_of_arrays():
    base = np.arange(24.0).reshape(4, 6)
    for array in (base, base[1:, ::2], base.T, np.zeros(()), np.zeros((0, 3)), np.zeros(5, "i1")):
        assert data_pointer(array) == array.ctypes.data


def test_every_rank(load_mlir):
    for rank in range(6):
        kind = f"tensor<{'?x' * rank}f32>"
        program = load_mlir(
            f"""(%x: {kind}) -> {kind} {{
                %result = stablehlo.negate %x : {kind}
                return %result : {kind}
            }}""",
            f"float32[{rank}]",
            f"float32[{rank}]",
        )
        x = np.random.default_rng(0).normal(size=(2, 3, 1, 4, 2)[:rank]).astype(np.float32)
        x = np.asarray(x)
        (result,) = program([x])
        np.testing.assert_array_equal(result, -x)


def test_recorded_errors_become_exceptions_at_the_users_line(load_mlir):
    sites = (Site("a.py", 1, "f", "RY"), Site("/home/user/model.py", 12, "circuit", "RX"))
    program = load_mlir(
        recording(ErrorCode.WIRE_OUT_OF_RANGE, 1, 5, 2), "float64[1]", "float64[1]", sites=sites
    )
    for _ in range(3):
        with pytest.raises(WireOutOfRangeError, match="RX on wire 5 of a device with 2") as caught:
            program([np.ones(10_000)])
        assert isinstance(caught.value, IndexError)
        assert (caught.value.span.file, caught.value.span.line) == ("/home/user/model.py", 12)


def test_every_error_code_has_an_exception_with_a_readable_text(load_mlir):
    of_python = {ErrorCode.INTERRUPTED, ErrorCode.CALLBACK_RAISED}
    of_checked_builds = {ErrorCode.CHECK_FAILED}  # `test_failed_checks`
    for code in set(ErrorCode) - of_python - of_checked_builds - {ErrorCode.NONE}:
        program = load_mlir(recording(code, 0, 1, 2), "float64[1]", "float64[1]")
        with pytest.raises(DiastaseError) as caught:
            program([np.ones(1)])
        assert str(caught.value)
        assert not isinstance(caught.value, InternalError)


def test_an_error_does_not_stick_to_the_next_call(load_mlir):
    program = load_mlir(
        """(%fail: tensor<i64>) -> tensor<i64> {
            %code = tensor.extract %fail[] : tensor<i64>
            llvm.store %code, %context : i64, !llvm.ptr
            return %fail : tensor<i64>
        }""",
        "int64[0]",
        "int64[0]",
    )
    for _ in range(3):
        with pytest.raises(ZeroStepError):
            program([np.array(int(ErrorCode.ZERO_STEP))])
        assert program([np.array(0)]) == [0]


def test_the_seed_reaches_the_program(load_mlir):
    program = load_mlir(
        f"""() -> tensor<i64> {{
            %p = llvm.getelementptr %context[{CallContext.seed.offset}]
                : (!llvm.ptr) -> !llvm.ptr, i8
            %seed = llvm.load %p : !llvm.ptr -> i64
            %result = tensor.from_elements %seed : tensor<i64>
            return %result : tensor<i64>
        }}""",
        "",
        "uint64[0]",
    )
    for seed in (0, 5, 2**64 - 1):
        assert program([], seed=seed) == [seed]
    assert program([], seed=-1) == [2**64 - 1]


def test_a_call_begins_with_nothing_counted(load_mlir):
    """And with what is known of the process, which no call changes."""
    counts = ("gates", "operations", "stages", "launches", "to_device", "to_host")
    offsets = {name: getattr(CallContext, name).offset for name in (*counts, "memory")}
    loads = [
        f"""
        %p_{name} = llvm.getelementptr %context[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8
        %{name} = llvm.load %p_{name} : !llvm.ptr -> i64"""
        for name, offset in offsets.items()
    ]
    stores = [f"llvm.store %seven, %p_{name} : i64, !llvm.ptr\n" for name in counts]
    program = load_mlir(
        f"""() -> tensor<7xi64> {{ {"".join(loads)}
            %seven = llvm.mlir.constant(7 : i64) : i64
            {"".join(stores)}
            %result = tensor.from_elements {", ".join(f"%{name}" for name in offsets)}
                : tensor<7xi64>
            return %result : tensor<7xi64>
        }}""",
        "",
        "int64[1]",
    )
    for _ in range(2):
        *counted, memory = program([])[0]
        assert not any(counted)
        assert memory == available_memory()
        assert program.work == EngineWork(7, 7, 7, 7, 7, 7)


def test_a_library_that_is_gone(mlir_program, tmp_path):
    artifact = Artifact("gone", tmp_path / "gone.so", (), ())
    with pytest.raises(LibraryLoadError, match=r"gone\.so"):
        Executable(artifact)


@pytest.mark.parametrize("change", ["cut", "exchanged", "emptied"])
@pytest.mark.parametrize("unique", [False, True])
def test_a_library_that_has_changed_since_it_was_found(
    mlir_program, tmp_path, monkeypatch, change, unique
):
    """The dynamic linker would run other code, or end the process where half of a file is gone."""
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "cache"))
    lowered = mlir_program(ADD_ONE, "float64[1]", "float64[1]")
    artifact = compile_module(lowered, CompileOptions()).artifact
    content = artifact.library.read_bytes()
    other = {"cut": content[: len(content) // 2], "emptied": b"", "exchanged": content + b"\0"}
    artifact.library.write_bytes(other[change])
    with pytest.raises(LibraryLoadError, match="contents have changed"):
        open_library(artifact.library, unique=unique)
    assert not artifact.library.exists()
    artifact.library.write_bytes(other[change])
    with pytest.raises(LibraryLoadError, match="contents have changed"):
        Executable(artifact)
    artifact.library.write_bytes(content)
    assert Executable(artifact)([np.ones(2)])[0].tolist() == [2.0, 2.0]


def test_artifacts_survive_json(mlir_program):
    lowered = mlir_program(ADD_ONE, "float64[1]", "float64[1]", sites=(Site("a", 1, "f", "RX"),))
    artifact = compile_module(lowered, CompileOptions(use_cache=False)).artifact
    artifact = replace(artifact, engine=Path("/engine.so"))
    assert Artifact.from_json(artifact.to_json()) == artifact


def test_names_of_the_c_library_do_not_collide(load_mlir):
    program = load_mlir(
        """(%x: tensor<f64>) -> tensor<f64> {
            %scalar = tensor.extract %x[] : tensor<f64>
            %mine = func.call @exp(%scalar) : (f64) -> f64
            %theirs = math.sin %mine : f64
            %result = tensor.from_elements %theirs : tensor<f64>
            return %result : tensor<f64>
        }
        func.func private @exp(%x: f64) -> f64 {
            %two = arith.constant 2.0 : f64
            %y = arith.mulf %x, %two : f64
            return %y : f64
        }""",
        "float64[0]",
        "float64[0]",
    )
    np.testing.assert_allclose(program([np.array(0.25)])[0], np.sin(0.5))


def test_many_threads(load_mlir):
    program = load_mlir(UPDATE_IN_LOOP, "float64[1], float64[0]", "float64[1]")

    def work(number: int) -> bool:
        size = number % 7 * 100
        for _ in range(50):
            (result,) = program([np.zeros(size), np.array(float(number))])
            if not np.array_equal(result, np.full(size, float(number))):
                return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(40)))
    assert len(program._frames) <= 8


def test_the_gil_is_released(load_mlir):
    program = load_mlir(
        """(%n: tensor<i64>) -> tensor<f64> {
            %zero = arith.constant 0 : index
            %one = arith.constant 1 : index
            %scalar = tensor.extract %n[] : tensor<i64>
            %size = arith.index_cast %scalar : i64 to index
            %start = arith.constant 0.5 : f64
            %end = scf.for %i = %zero to %size step %one iter_args(%y = %start) -> f64 {
                %next = math.sin %y : f64
                scf.yield %next : f64
            }
            %result = tensor.from_elements %end : tensor<f64>
            return %result : tensor<f64>
        }""",
        "int64[0]",
        "float64[0]",
    )
    thread = threading.Thread(target=program, args=([np.array(30_000_000)],))
    thread.start()
    steps = 0
    while thread.is_alive():
        steps += 1
    thread.join()
    assert steps > 1000


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("size", [0, 10, 2000])
def test_memory_stays_flat_over_many_calls(load_mlir, size):
    program = load_mlir(
        """(%x: tensor<?xf64>) -> (tensor<?xf64>, tensor<?xf64>, tensor<f64>) {
            %y = stablehlo.add %x, %x : tensor<?xf64>
            %zero = stablehlo.constant dense<0.0> : tensor<f64>
            %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]
                : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
            return %y, %y, %sum : tensor<?xf64>, tensor<?xf64>, tensor<f64>
        }""",
        "float64[1]",
        "float64[1], float64[1], float64[0]",
    )
    arguments = [np.ones(size)]
    for _ in range(1000):
        program(arguments)
    before = resident()
    for _ in range(30_000):
        program(arguments)
    assert resident() - before < 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_libraries_are_unloaded(load_mlir):
    def mapped() -> int:
        return Path("/proc/self/maps").read_text().count("diastase")

    gc.collect()  # what tests before have left is not to be unloaded meanwhile
    before = mapped()
    program = load_mlir(ADD_ONE, "float64[1]", "float64[1]")
    assert mapped() > before
    del program
    gc.collect()
    assert mapped() == before


def test_the_runtime_needs_numpy_alone():
    check = (
        "import sys, diastase_runtime; "
        "heavy = {'jax', 'jaxlib', 'torch_mlir', 'llvmlite', 'pennylane', 'scipy', 'ml_dtypes'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", check], check=True)


def test_out_of_memory_is_reported(load_mlir):
    program = load_mlir(
        """(%n: tensor<i64>) -> tensor<?xf64> {
            %scalar = tensor.extract %n[] : tensor<i64>
            %size = arith.index_cast %scalar : i64 to index
            %empty = tensor.empty(%size) : tensor<?xf64>
            %one = arith.constant 1.0 : f64
            %result = linalg.fill ins(%one : f64) outs(%empty : tensor<?xf64>) -> tensor<?xf64>
            return %result : tensor<?xf64>
        }""",
        "int64[0]",
        "float64[1]",
    )
    np.testing.assert_array_equal(program([np.array(3)])[0], np.ones(3))
    for size in (2**50, 2**59):
        with pytest.raises(OutOfMemoryError):
            program([np.array(size)])
    np.testing.assert_array_equal(program([np.array(3)])[0], np.ones(3))
