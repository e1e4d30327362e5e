"""`results_in_memory`: the entry writes descriptors where the caller wants them."""

import jax
import jax.numpy as jnp
import numpy as np

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.llvm.results_in_memory import results_in_memory

TWO_RESULTS = b"""
func.func @diastase_entry(%context: !llvm.ptr, %x: memref<?x2xf64> {bufferization.writable = false})
    -> (memref<i32>, memref<?x2xf64>) attributes {llvm.emit_c_interface} {
  %0 = memref.alloc() : memref<i32>
  %1 = bufferization.clone %x : memref<?x2xf64> to memref<?x2xf64>
  return %0, %1 : memref<i32>, memref<?x2xf64>
}
"""


def changed(text: bytes) -> str:
    with session():
        module = parse(text)
        results_in_memory(module)
        assert module.operation.verify()
        return str(module)


def test_each_descriptor_has_its_place():
    text = changed(TWO_RESULTS)
    assert "memref<?x2xf64> {bufferization.writable = false}, %arg2: !llvm.ptr)" in text
    assert "-> (" not in text.split("attributes")[0]
    assert text.count("%arg2[0]") == 1
    assert text.count("%arg2[24]") == 1  # after the three words of rank 0
    assert text.count("llvm.store") == 2


def test_what_returns_nothing_stays_as_it_is():
    text = b"func.func @diastase_entry(%context: !llvm.ptr) { return }"
    assert "llvm.store" not in changed(text)
    assert "(%arg0: !llvm.ptr)" in changed(text)


def test_one_array_may_be_several_results():
    @qjit
    def f(x):
        y = jnp.sin(x)
        return x, y, {"again": y, "same": x}

    x = jnp.arange(6.0).reshape(2, 3)
    given, sine, both = f(x)
    for value in (given, both["same"]):
        np.testing.assert_array_equal(value, x)
    for value in (sine, both["again"]):
        np.testing.assert_allclose(value, np.sin(np.arange(6.0)).reshape(2, 3), rtol=1e-14)


def _lines(count: int) -> int:
    """Of what LLVM is given for a program of as many results."""

    @qjit
    def f(x):
        return {number: x * (number + 0.5) for number in range(count)}

    return len(f.lower(jnp.ones((2, 3))).as_text("llvm_dialect"))


def test_many_results_take_text_in_proportion():
    few, many = _lines(40), _lines(160)
    assert many < 4.5 * few


def test_many_arrays_in_and_out():
    @qjit
    def f(tree):
        return jax.tree.map(lambda leaf: leaf * 2 + 1, tree)

    kinds = [np.float32, np.float64, np.int32, np.complex64]
    tree = {
        f"p{number}": (np.arange(number % 5) + number).astype(kinds[number % 4])
        if number % 3
        else kinds[number % 4](number)
        for number in range(120)
    }
    for name, result in f(tree).items():
        np.testing.assert_allclose(result, tree[name] * 2 + 1)
        assert result.dtype == jnp.asarray(tree[name]).dtype
