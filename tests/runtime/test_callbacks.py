"""Python functions called from compiled code: values, types, exceptions, nesting, isolation."""

import numpy as np
import pytest

from diastase_mlir import CompileOptions, HostCallback, compile_module
from diastase_runtime import Executable
from diastase_runtime.abi import ArrayType, CallbackType, import_symbol

SYMBOL = import_symbol("callback", "0")


def calling(kind: str, times: int = 1) -> str:
    """A program that sends an array through callback 0, several times in a row."""
    calls = "".join(
        f"""
        %argument{k} = bufferization.to_buffer %x{k} {{read_only}}
            : tensor<?x{kind}> to memref<?x{kind}>
        %result{k} = memref.alloc(%size) : memref<?x{kind}>
        func.call @{SYMBOL}(%context, %site, %argument{k}, %result{k})
            : (!llvm.ptr, i64, memref<?x{kind}>, memref<?x{kind}>) -> ()
        %x{k + 1} = bufferization.to_tensor %result{k} {{restrict, writable}}
            : memref<?x{kind}> to tensor<?x{kind}>"""
        for k in range(times)
    )
    return f"""(%x0: tensor<?x{kind}>) -> tensor<?x{kind}> {{
        %zero = arith.constant 0 : index
        %site = arith.constant 0 : i64
        %size = tensor.dim %x0, %zero : tensor<?x{kind}>
        {calls}
        return %x{times} : tensor<?x{kind}>
    }}
    func.func private @{SYMBOL}(!llvm.ptr, i64, memref<?x{kind}>, memref<?x{kind}>)
        attributes {{llvm.emit_c_interface}}"""


def callback(function, dtype: str = "float64") -> HostCallback:
    vector = (ArrayType(dtype, 1),)
    return HostCallback(CallbackType(vector, vector), function)


@pytest.fixture
def load_callback(load_mlir):
    def build(function, dtype: str = "float64", kind: str = "f64", times: int = 1):
        types = f"{dtype}[1]"
        callbacks = (callback(function, dtype),)
        return load_mlir(calling(kind, times), types, types, callbacks=callbacks)

    return build


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("bool", "i1"),
        ("int8", "i8"),
        ("uint32", "i32"),
        ("float16", "f16"),
        ("bfloat16", "bf16"),
        ("float64", "f64"),
        ("complex64", "complex<f32>"),
    ],
)
def test_arrays_of_every_kind_go_out_and_back(load_callback, dtype, kind):
    seen = []

    def reverse(x):
        seen.append(x)
        return [x[::-1]]

    program = load_callback(reverse, dtype, kind)
    x = np.array([0, 1, 1, 0, 2, 5]).astype(program.layout.types[0][0])
    np.testing.assert_array_equal(program([x])[0], x[::-1])
    np.testing.assert_array_equal(program([x[:0]])[0], x[:0])
    assert seen[0].dtype == x.dtype
    np.testing.assert_array_equal(seen[0], x)  # a copy: still there after the call


def test_its_exception_comes_out_and_stops_further_callbacks(load_callback):
    calls = []

    def fail(x):
        calls.append(x)
        raise KeyError("mine")

    program = load_callback(fail, times=3)
    for count in (1, 2):
        with pytest.raises(KeyError, match="mine"):
            program([np.ones(4)])
        assert len(calls) == count


def test_interrupts_come_out_too(load_callback):
    def interrupt(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_callback(interrupt)([np.ones(4)])


@pytest.mark.parametrize(
    "wrong", [lambda x: [x.astype("float32")], lambda x: [x[:1]], lambda x: [x, x], lambda x: []]
)
def test_results_other_than_promised_are_refused(load_callback, wrong):
    program = load_callback(wrong)
    with pytest.raises((TypeError, ValueError)):
        program([np.ones(4)])


def test_a_callback_may_call_the_program_again(load_callback):
    def descend(x):
        return [x] if x[0] == 0 else [program([x - 1])[0] + 10]

    program = load_callback(descend)
    np.testing.assert_array_equal(program([np.full(2, 3.0)])[0], np.full(2, 30.0))


def test_calls_without_end_raise_also_where_the_callback_could_not_begin(load_callback):
    """At some depth Python refuses to call the function itself; one more frame each time."""
    program = load_callback(lambda x: program([x]))

    def deeper(frames):
        return program([np.ones(2)]) if frames == 0 else deeper(frames - 1)

    for frames in range(8):
        with pytest.raises(RecursionError):
            deeper(frames)
    np.testing.assert_array_equal(load_callback(lambda x: [2 * x])([np.ones(2)])[0], [2, 2])


def test_equal_programs_keep_their_own_callbacks(mlir_program):
    """The cache gives both the same library; the dynamic linker must not give them one table."""

    def build(function):
        lowered = mlir_program(
            calling("f64"), "float64[1]", "float64[1]", callbacks=(callback(function),)
        )
        compilation = compile_module(lowered, CompileOptions())
        return Executable(compilation.artifact, [function])

    double, square = build(lambda x: [2 * x]), build(lambda x: [x * x])
    x = np.array([3.0])
    assert (double([x])[0], square([x])[0], double([x])[0]) == (6.0, 9.0, 6.0)
