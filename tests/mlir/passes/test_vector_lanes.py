"""`vector_lanes`: loops of elements run in vectors; lanes that are done keep what they have."""

import re

from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.buffers.vector_lanes import vector_lanes


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
