"""`vector_lanes`: loops of elements run in vectors; lanes that are done keep what they have."""

import re

import jax
import numpy as np
import pytest

from diastase.debugging.ir import compile_from_mlir
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.buffers.vector_lanes import vector_lanes

jax.config.update("jax_enable_x64", True)


def in_lanes(body, kind="f64", shape="?"):
    text = f"""
    #map = affine_map<(i) -> (i)>
    func.func @f(%a: memref<{shape}x{kind}>, %b: memref<{shape}x{kind}>, %p: !llvm.ptr) {{
      %half = arith.constant 0.5 : f64
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
          ins(%a : memref<{shape}x{kind}>) outs(%b : memref<{shape}x{kind}>) {{
      ^bb0(%in: {kind}, %out: {kind}):
        {body}
        linalg.yield %r : {kind}
      }}
      return
    }}"""
    with session():
        module = parse(text.encode())
        vector_lanes(module)
        assert module.operation.verify()
        return str(module)


WHILE = """
        %w:2 = scf.while (%x = %in, %k = %zero) : (f64, i64) -> (f64, i64) {
          %more = arith.cmpf ogt, %x, %half : f64
          %code = llvm.load %p : !llvm.ptr -> i64
          %fine = arith.cmpi eq, %code, %zero : i64
          %both = arith.andi %more, %fine : i1
          scf.condition(%both) %x, %k : f64, i64
        } do {
        ^bb0(%x: f64, %k: i64):
          %y = math.exp %x : f64
          %n = arith.addi %k, %one : i64
          scf.yield %y, %n : f64, i64
        }
        %r = arith.addf %w#0, %w#0 : f64"""


def test_lanes_that_are_done_keep_what_they_have():
    text = in_lanes(WHILE)
    assert "linalg.generic" not in text
    assert "(vector<16xf64>, i64, vector<16xi1>, vector<16xf64>)" in text
    assert "vector.reduction <or>" in text
    assert re.search(r"arith.select %\w+, %\w+, %\w+ : vector<16xi1>, vector<16xf64>", text)
    assert "arith.cmpi eq, %" in text  # whether there is an error, once for all lanes
    assert "vector.maskedload" in text
    assert "vector.maskedstore" in text
    assert "math.exp" not in text


def test_a_counter_that_is_seen_afterwards_is_one_of_each_lane():
    seen = WHILE.replace("arith.addf %w#0, %w#0 : f64", "arith.sitofp %w#1 : i64 to f64")
    assert "(vector<16xf64>, vector<16xi64>, vector<16xi1>" in in_lanes(seen)


def test_no_more_lanes_than_elements():
    assert "vector<4xf64>" in in_lanes(WHILE, shape="3")
    assert "linalg.generic" in in_lanes(WHILE, shape="1")


def test_bytes_of_flags_are_read_one_by_one():
    body = """
        %w = scf.while (%x = %in) : (i1) -> (i1) {
          scf.condition(%x) %x : i1
        } do {
        ^bb0(%x: i1):
          %y = arith.xori %x, %in : i1
          scf.yield %y : i1
        }
        %r = arith.ori %w, %in : i1"""
    text = in_lanes(body, "i1")
    assert "vector.maskedload" not in text
    assert text.count("memref.store") == 32


def test_what_no_vector_has_stays():
    body = """
        %w = scf.while (%x = %in) : (complex<f64>) -> (complex<f64>) {
          %size = complex.abs %x : complex<f64>
          %more = arith.cmpf ogt, %size, %half : f64
          scf.condition(%more) %x : complex<f64>
        } do {
        ^bb0(%x: complex<f64>):
          %y = complex.sub %x, %in : complex<f64>
          scf.yield %y : complex<f64>
        }
        %r = complex.add %w, %in : complex<f64>"""
    assert "linalg.generic" in in_lanes(body, "complex<f64>")


def test_loops_without_loops_in_them_stay():
    assert "linalg.generic" in in_lanes("%r = arith.addf %in, %in : f64")


GCD = """
  #m = affine_map<(i) -> (i)>
  func.func @main(%a: tensor<16xKIND>, %b: tensor<16xKIND>) -> tensor<16xKIND> {
    %zero = arith.constant 0 : KIND
    %e = tensor.empty() : tensor<16xKIND>
    %g = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<16xKIND>, tensor<16xKIND>) outs(%e : tensor<16xKIND>) {
    ^bb0(%p: KIND, %q: KIND, %o: KIND):
      %r:2 = scf.while (%x = %p, %y = %q) : (KIND, KIND) -> (KIND, KIND) {
        %c = arith.cmpi ne, %y, %zero : KIND
        scf.condition(%c) %x, %y : KIND, KIND
      } do {
      ^bb0(%x: KIND, %y: KIND):
        %rest = arith.remsi %x, %y : KIND
        scf.yield %y, %rest : KIND, KIND
      }
      linalg.yield %r#0 : KIND
    } -> tensor<16xKIND>
    return %g : tensor<16xKIND>
  }"""

SUM_OF_STEPS = """
  #m = affine_map<(i) -> (i)>
  func.func @main(%a: tensor<16xi64>, %t: tensor<?xf64>) -> tensor<16xf64> {
    %zero = arith.constant 0.0 : f64
    %step = arith.constant 1000000000000 : i64
    %c0 = arith.constant 0 : index
    %n = tensor.dim %t, %c0 : tensor<?xf64>
    %e = tensor.empty() : tensor<16xf64>
    %g = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]}
        ins(%a : tensor<16xi64>) outs(%e : tensor<16xf64>) {
    ^bb0(%p: i64, %o: f64):
      %r:2 = scf.while (%x = %p, %y = %zero) : (i64, f64) -> (i64, f64) {
        %i = arith.index_cast %x : i64 to index
        %c = arith.cmpi ult, %i, %n : index
        scf.condition(%c) %x, %y : i64, f64
      } do {
      ^bb0(%x: i64, %y: f64):
        %i = arith.index_cast %x : i64 to index
        %v = tensor.extract %t[%i] : tensor<?xf64>
        %w = arith.addf %y, %v : f64
        %k = arith.addi %x, %step : i64
        scf.yield %k, %w : i64, f64
      }
      linalg.yield %r#1 : f64
    } -> tensor<16xf64>
    return %g : tensor<16xf64>
  }"""


@pytest.mark.parametrize("kind", ["i32", "i64"])
def test_lanes_that_are_done_do_not_divide_by_zero(kind):
    dtype = kind.replace("i", "int")
    least = np.iinfo(dtype).min
    a = np.array([12, 35, 100, 7, 0, 5, 81, 1000, least] * 2, dtype)[:16]
    b = np.array([18, 49, 75, 0, 0, 3, 27, 35, -1] * 2, dtype)[:16]
    found = compile_from_mlir(GCD.replace("KIND", kind))(a, b)
    expected = np.gcd(a.astype(object), b.astype(object))
    np.testing.assert_array_equal(np.abs(np.asarray(found)), expected.astype(dtype))


def test_lanes_that_are_done_do_not_read_beyond_an_array():
    places, table = np.arange(16) * 10**13, np.arange(1.0, 6.0)
    places[3] = 4
    found = compile_from_mlir(SUM_OF_STEPS)(places, table)
    expected = np.zeros(16)
    expected[[0, 3]] = 1.0, 5.0
    np.testing.assert_array_equal(found, expected)
