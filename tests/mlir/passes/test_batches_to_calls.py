"""Batches get memory for their results, and elements that write their part of it."""

import re

import pytest

from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import DIALECTS
from diastase_mlir.passes.runtime.batches_to_calls import batches_to_calls
from diastase_mlir.passes.runtime.runtime_to_calls import runtime_to_calls
from diastase_mlir.passes.tensors.scalarize import scalarize

MAP = """
func.func private @diastase_element_0(%number: tensor<i64>, %x: tensor<4x3xf64>, %n: tensor<i64>)
    -> (tensor<f64>, tensor<3xui8>, tensor<?xf64>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %part = stablehlo.dynamic_slice %x, %number, %zero, sizes = [1, 3]
    : (tensor<4x3xf64>, tensor<i64>, tensor<i64>) -> tensor<1x3xf64>
  %row = stablehlo.reshape %part : (tensor<1x3xf64>) -> tensor<3xf64>
  %flags = stablehlo.convert %row : (tensor<3xf64>) -> tensor<3xui8>
  %first = stablehlo.slice %row [0:1] : (tensor<3xf64>) -> tensor<1xf64>
  %result = stablehlo.reshape %first : (tensor<1xf64>) -> tensor<f64>
  %shape = stablehlo.reshape %n : (tensor<i64>) -> tensor<1xi64>
  %line = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi64>) -> tensor<?xf64>
  return %result, %flags, %line : tensor<f64>, tensor<3xui8>, tensor<?xf64>
}
func.func @diastase_entry(%x: tensor<4x3xf64>, %count: tensor<i64>, %n: tensor<i64>)
    -> (tensor<?xf64>, tensor<?x3xui8>, tensor<?x?xf64>) {
  %r:3 = stablehlo.custom_call @diastase.map(%count, %x, %n, %n) {api_version = 4 : i32,
    called_computations = [@diastase_element_0], has_side_effect = true,
    backend_config = {arguments = 2 : i64, wires = 5 : i64}}
    : (tensor<i64>, tensor<4x3xf64>, tensor<i64>, tensor<i64>)
    -> (tensor<?xf64>, tensor<?x3xui8>, tensor<?x?xf64>)
  return %r#0, %r#1, %r#2 : tensor<?xf64>, tensor<?x3xui8>, tensor<?x?xf64>
}
"""

CONCURRENT = """
func.func private @f(%x: tensor<f64>) -> tensor<f64> {
  %y = stablehlo.sine %x : tensor<f64>
  return %y : tensor<f64>
}
func.func private @g(%x: tensor<f64>, %a: tensor<3xui8>) -> (tensor<3xui8>, tensor<f64>) {
  return %a, %x : tensor<3xui8>, tensor<f64>
}
func.func private @diastase_element_0() {
  return
}
func.func @diastase_entry(%x: tensor<f64>, %a: tensor<3xui8>)
    -> (tensor<f64>, tensor<3xui8>, tensor<f64>) {
  %r:3 = stablehlo.custom_call @diastase.concurrent(%x, %x, %a) {api_version = 4 : i32,
    called_computations = [@f, @g], has_side_effect = true, backend_config = {wires = -1 : i64}}
    : (tensor<f64>, tensor<f64>, tensor<3xui8>) -> (tensor<f64>, tensor<3xui8>, tensor<f64>)
  return %r#0, %r#1, %r#2 : tensor<f64>, tensor<3xui8>, tensor<f64>
}
"""


def converted(text: str) -> str:
    with session(DIALECTS):
        module = ir.Module.parse(text)
        for step in (batches_to_calls, scalarize, runtime_to_calls):
            step(module)
            assert module.operation.verify()
        return str(module)


def function(text: str, name: str) -> str:
    """The text of one function."""
    return next(part for part in text.split("func.func ") if f"@{name}(" in part.split("{")[0])


def test_each_element_writes_its_part_of_the_results():
    text = converted(MAP)
    element = function(text, "diastase_element_0")
    outputs = "memref<?xf64>, memref<?x3xi8>, memref<?x?xf64>"
    kinds = re.findall(r"%arg\d+: ([^,{)]+?)(?: \{[^}]*\})?[,)]", element.split("\n")[0])
    assert ", ".join(kinds) == f"!llvm.ptr, i64, i64, tensor<4x3xf64>, i64, {outputs}"
    assert re.search(r"memref.store %\w+, %arg5\[%\d+\] : memref<\?xf64>", element)
    assert element.count("bufferization.materialize_in_destination") == 2
    assert re.search(r"return\n", element)


def test_the_call_has_the_count_and_memory_of_all_sizes():
    entry = function(converted(MAP), "diastase_entry")
    assert entry.count("memref.alloc(") == 3
    (call,) = re.findall(r"call @diastase_element_0\((.*?)\)", entry)
    state, count, wires, *_ = call.split(", ")
    assert state == "%arg0"
    assert re.search(rf"{count} = tensor.extract %arg2\[\]", entry)
    assert re.search(rf"{wires} = arith.constant 5 : i64", entry)
    assert "custom_call" not in entry


@pytest.mark.parametrize("name", ["f", "g"])
def test_functions_at_once_are_called_by_number(name: str):
    text = converted(CONCURRENT)
    choice = function(text, "diastase_element_1")
    assert choice.count(f"call @{name}(%arg0") == 1
    assert choice.count("scf.if") == 1
    entry = function(text, "diastase_entry")
    assert re.search(r"call @diastase_element_1\(%arg0, %c2_i64\w*, %c-1_i64", entry)
    assert "memref<1x3xi8>" in entry
