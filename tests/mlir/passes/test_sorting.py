"""Sorts by keys become calls of the library, all others loops; what is sorted is copied once."""

import pytest

from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.tensors.arrays_to_loops import arrays_to_loops
from diastase_mlir.passes.tensors.reuse_destinations import reuse_destinations

SORT = """
func.func @f(%state: !llvm.ptr, %x: tensor<{size}xf32>, %y: tensor<{size}xi64>)
    -> (tensor<{size}xf32>, tensor<{size}xi64>) {{
  %0:2 = "stablehlo.sort"(%x, %y) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i64>, %d: tensor<i64>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}) {{dimension = 0 : i64, is_stable = true {attributes}}}
    : (tensor<{size}xf32>, tensor<{size}xi64>) -> (tensor<{size}xf32>, tensor<{size}xi64>)
  return %0#0, %0#1 : tensor<{size}xf32>, tensor<{size}xi64>
}}
"""


def converted(size, attributes="", state="!llvm.ptr"):
    text = SORT.format(size=size, attributes=attributes).replace("!llvm.ptr", state)
    with session():
        module = parse(text.encode())
        arrays_to_loops(module)
        assert module.operation.verify()
        return str(module)


KEYS = ', diastase.sort_keys = ["{}"], diastase.positions = array<i64{}>'


def test_keys_of_32_bits_hold_their_positions():
    """One array is sorted: 32 bits of a key above 32 of a position, without scratch where short."""
    text = converted(40, KEYS.format("float", ""))
    assert text.count("call @diastase_import__sorting__sort_lines") == 1
    assert "arith.shli" in text
    assert "llvm.mlir.zero" in text
    assert "scratch_size" not in text
    assert "scratch_size" in converted(400, KEYS.format("float", ""))


def test_positions_are_pairs_where_their_number_is_not_known():
    text = converted("?", KEYS.format("float", ""))
    assert "llvm.mlir.zero" not in text
    assert "arith.shli" not in text


def test_positions_are_what_they_are_not_read():
    """An operand that counts along the axis is the order itself."""
    read = converted(400, KEYS.format("float", ""))
    counted = converted(400, KEYS.format("float", ": 1"))
    assert read.count("tensor.extract %arg2") == 1
    assert "tensor.extract %arg2" not in counted


@pytest.mark.parametrize(
    ("attributes", "state"), [("", "!llvm.ptr"), (KEYS.format("float", ""), "i64")]
)
def test_other_comparisons_are_loops(attributes, state):
    """So are those where there is no call that could be told of an interrupt."""
    text = converted(40, attributes, state)
    assert "sorting" not in text
    assert "scf.while" in text


COPIED = """
func.func @f(%n: index) -> memref<?xf64> {{
  {before}
  %e = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
  }} outs(%e : tensor<?xf64>) {{
  ^bb0(%out: f64):
    %c = arith.constant 1.0 : f64
    linalg.yield %c : f64
  }} -> tensor<?xf64>
  {after}
  bufferization.materialize_in_destination %r in restrict writable %b
    : (tensor<?xf64>, memref<?xf64>) -> ()
  return %b : memref<?xf64>
}}
"""
ALLOCATION = "%b = memref.alloc(%n) : memref<?xf64>"


@pytest.mark.parametrize(
    ("before", "after", "is_written_to"),
    [
        (ALLOCATION, "", True),
        ("", ALLOCATION, True),
        ("", "%m = arith.addi %n, %n : index\n" + ALLOCATION.replace("%n", "%m"), False),
        (
            ALLOCATION,
            "%i = arith.constant 0 : index %x = memref.load %b[%i] : memref<?xf64>",
            False,
        ),
    ],
)
def test_what_is_copied_to_a_new_buffer_is_written_there(before, after, is_written_to):
    """Not where the size is known too late, or where somebody has used the buffer before."""
    with session():
        module = parse(COPIED.format(before=before, after=after).encode())
        reuse_destinations(module)
        assert module.operation.verify()
        text = str(module)
    assert ("bufferization.to_tensor" in text) == is_written_to
