"""Arrays that nobody writes to go into calls by views, of which each is used once."""

import re

from diastase_mlir.bindings import ir, run_passes, session
from diastase_mlir.dialects import DIALECTS
from diastase_mlir.passes.views_for_calls import views_for_calls

MODULE = """
func.func private @inner(%a: tensor<?xf64> {bufferization.writable = false}) -> f64 {
  %0 = arith.constant 0 : index
  %x = tensor.extract %a[%0] : tensor<?xf64>
  return %x : f64
}
func.func private @writes(%a: tensor<?xf64> {bufferization.writable = false}, %x: f64)
    -> tensor<?xf64> {
  %0 = arith.constant 0 : index
  %b = tensor.insert %x into %a[%0] : tensor<?xf64>
  return %b : tensor<?xf64>
}
func.func @entry(%a: tensor<?xf64> {bufferization.writable = false}, %w: tensor<?xf64>)
    -> (f64, tensor<?xf64>, tensor<?xf64>) {
  %1 = call @inner(%a) : (tensor<?xf64>) -> f64
  %2 = call @writes(%a, %1) : (tensor<?xf64>, f64) -> tensor<?xf64>
  %3 = call @writes(%a, %1) : (tensor<?xf64>, f64) -> tensor<?xf64>
  %4 = call @inner(%w) : (tensor<?xf64>) -> f64
  %5 = call @inner(%w) : (tensor<?xf64>) -> f64
  %6 = call @inner(%2) : (tensor<?xf64>) -> f64
  %7 = call @inner(%2) : (tensor<?xf64>) -> f64
  return %5, %2, %3 : f64, tensor<?xf64>, tensor<?xf64>
}
"""


def converted(*passes: str) -> str:
    with session(DIALECTS):
        module = ir.Module.parse(MODULE)
        views_for_calls(module)
        assert module.operation.verify()
        for step in passes:
            run_passes(step, module)
        return str(module)


def test_one_memory_and_a_view_for_each_call():
    entry = converted().partition("@entry")[2]
    assert entry.count("bufferization.to_buffer %arg0 read_only") == 1
    assert entry.count("bufferization.to_tensor") == 3
    assert re.findall(r"call @\w+\((%arg1|%\d+)[,)]", entry)[3:5] == ["%arg1", "%arg1"]


def test_the_memory_itself_is_handed_on_and_not_written():
    options = "bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map"
    text = converted(f"one-shot-bufferize{{{options}}}", "canonicalize", "cse")
    entry = text.partition("@entry")[2]
    assert re.findall(r"call @(\w+)\(%arg0", entry) == ["inner", "writes", "writes"]
    assert "memref.copy" not in entry
    assert "memref.copy" in text.partition("@writes")[2].partition("@entry")[0]
