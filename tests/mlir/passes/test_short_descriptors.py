"""`short_descriptors`: of arrays, blocks and functions hand on what their types do not say."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import cond, for_loop, qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.llvm.short_descriptors import short_descriptors

BLOCKS = b"""
func.func private @g(%n: i64, %a: memref<2x3xf64>) -> (memref<2x3xf64>, i1) {
  %c = arith.constant true
  cf.switch %n : i64, [default: ^bb1(%a : memref<2x3xf64>), 1: ^bb1(%a : memref<2x3xf64>),
                       2: ^bb2(%n : i64)]
^bb1(%b: memref<2x3xf64>):
  return %b, %c : memref<2x3xf64>, i1
^bb2(%m: i64):
  %0 = memref.alloc() : memref<2x3xf64>
  cf.cond_br %c, ^bb1(%0 : memref<2x3xf64>), ^bb1(%a : memref<2x3xf64>)
}
func.func private @many(%a: memref<?xf64>, %i: index)
    -> (memref<?xf64>, index, memref<?xf64, strided<[2], offset: 1>>, i1, f64) {
  %c = arith.constant true
  %x = memref.load %a[%i] : memref<?xf64>
  %b = memref.subview %a[1] [%i] [2] : memref<?xf64> to memref<?xf64, strided<[2], offset: 1>>
  return %a, %i, %b, %c, %x
    : memref<?xf64>, index, memref<?xf64, strided<[2], offset: 1>>, i1, f64
}
func.func @diastase_entry(%a: memref<2x3xf64>, %b: memref<?xf64>, %n: i64)
    -> memref<2x3xf64> attributes {llvm.emit_c_interface} {
  %0:2 = call @g(%n, %a) : (i64, memref<2x3xf64>) -> (memref<2x3xf64>, i1)
  %i = arith.index_cast %n : i64 to index
  %1:5 = call @many(%b, %i) : (memref<?xf64>, index)
    -> (memref<?xf64>, index, memref<?xf64, strided<[2], offset: 1>>, i1, f64)
  memref.store %1#4, %0#0[%1#1, %1#1] : memref<2x3xf64>
  memref.store %1#4, %1#2[%1#1] : memref<?xf64, strided<[2], offset: 1>>
  return %0#0 : memref<2x3xf64>
}
"""


def _changed(text):
    with session():
        module = parse(text)
        short_descriptors(module)
        assert module.operation.verify()
        return str(module)


def test_known_words_are_not_handed_on():
    text = _changed(BLOCKS)
    assert (
        "@g(%arg0: i64, %arg1: !llvm.ptr, %arg2: !llvm.ptr) -> (!llvm.ptr, !llvm.ptr, i1)" in text
    )
    assert re.search(r"\^bb\d\(%\d+: !llvm.ptr, %\d+: !llvm.ptr\)", text)
    assert "memref<2x3xf64>, %arg1: memref<?xf64>, %arg2: i64) -> memref<2x3xf64>" in text


def test_sizes_that_are_not_known_are_and_many_results_are_written_to_memory():
    text = _changed(BLOCKS)
    arguments = "%arg0: index, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: i64, %arg4: !llvm.ptr"
    many = text[text.index("@many(") :]
    many = many[: many.index("func.func")]
    assert many.startswith(f"@many({arguments}) {{")
    assert many.count("llvm.store") == 3 + 1 + 3 + 1 + 1  # words of arrays, and numbers
    assert text.count("llvm.alloca") == 1
    assert "llvm.mlir.constant(9 : i64)" in text


def test_who_is_called_by_its_address_stays():
    body = b"(%a: memref<3xf64>) { return }"
    kind = b"(memref<3xf64>) -> ()"
    text = _changed(
        b"func.func private @f" + body + b"func.func private @g" + body +
        b"func.func @diastase_entry() { %0 = func.constant @f : " + kind + b" return }"
    )  # fmt: skip
    assert "@f(%arg0: memref<3xf64>)" in text
    assert "@g(%arg0: !llvm.ptr, %arg1: !llvm.ptr)" in text


def _carried(count):
    def program(a, n):
        values = for_loop(0, n, 1)(lambda j, *v: tuple(u * 0.5 + j for u in v[1:] + v[:1]))(
            *(a * i for i in range(count))
        )
        return sum(values)

    return program


def _text_of(count):
    return qjit(_carried(count)).lower(np.ones((2, 3)), 2).as_text("llvm_ir")


def test_loops_of_many_arrays_take_text_in_proportion():
    few, many = len(_text_of(40)), len(_text_of(160))
    assert many < 4.8 * few


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("count", "dtype"),
    [(1, "float64"), (2, "complex64"), (3, "float16"), (5, "bool"), (12, "int8")],
)
def test_loops_of_arrays(count, dtype):
    """Arrays of several types and shapes, known and not, change places in a loop."""

    def step(j, *arrays):
        first, *others = arrays
        return *(a[::-1] if a.ndim else a for a in others), jnp.where(j % 2 == 0, first, first.T)

    def program(a, b, n):
        arrays = [(a[i % 3 :] if i % 2 else b) for i in range(2)] * count
        square = [jnp.roll(jnp.outer(b, b).astype(dtype), i) for i in range(count)]
        return for_loop(0, n, 1)(step)(*square), jax.lax.cond(
            n > 2, lambda: arrays, lambda: [x[::-1] for x in arrays]
        )

    def expected(a, b, n):
        arrays = [(a[i % 3 :] if i % 2 else b) for i in range(2)] * count
        square = [jnp.roll(jnp.outer(b, b).astype(dtype), i) for i in range(count)]
        for j in range(n):
            square = step(j, *square)
        return square, arrays if n > 2 else [x[::-1] for x in arrays]

    a, b = (jnp.asarray(np.arange(7) * 3 % 5 - 1).astype(dtype) for _ in range(2))
    compiled = qjit(program, abstracted_axes=({0: "m"}, {0: "k"}, {}))
    for n, size in ((0, 4), (1, 5), (4, 6)):
        own = jax.tree.leaves(compiled(a[:size], b[:3], n))
        wanted = jax.tree.leaves(expected(a[:size], b[:3], n))
        for each, other in zip(own, wanted, strict=True):
            assert each.dtype == other.dtype
            np.testing.assert_array_equal(each, other)


def test_branches_of_arrays_and_numbers():
    @qjit
    def program(a, x):
        chosen = cond(x > 1.0)(lambda: (a * 2.0, x, 3, a[:2]))
        chosen.else_if(x > 0.0)(lambda: (a + 1.0, x * 2.0, 4, a[1:3]))
        chosen.otherwise(lambda: (a, 0.0, 5, a[2:]))
        return chosen()

    a = np.arange(4.0)
    for x, wanted in (
        (2.0, (a * 2.0, 2.0, 3, a[:2])),
        (0.5, (a + 1.0, 1.0, 4, a[1:3])),
        (-1.0, (a, 0.0, 5, a[2:])),
    ):
        for own, other in zip(program(a, x), wanted, strict=True):
            np.testing.assert_array_equal(own, other)
