"""Numbers cross the borders of a module's own functions as scalars, whatever their type."""

from diastase_mlir.bindings import ir, session
from diastase_mlir.bindings.pass_pipeline import PythonPass
from diastase_mlir.dialects import DIALECTS
from diastase_mlir.passes.runtime.runtime_to_calls import runtime_to_calls
from diastase_mlir.passes.tensors.scalarize import scalarize

MODULE = """
func.func private @inner(%x: tensor<f64>, %a: tensor<3xui8>, %k: tensor<ui32>,
    %z: tensor<complex<f64>>) -> (tensor<f64>, tensor<ui32>, tensor<3xui8>, tensor<complex<f64>>) {
  %y = stablehlo.sine %x : tensor<f64>
  %l = stablehlo.add %k, %k : tensor<ui32>
  return %y, %l, %a, %z : tensor<f64>, tensor<ui32>, tensor<3xui8>, tensor<complex<f64>>
}
func.func private @outside(%x: tensor<f64>) -> tensor<f64>
func.func @diastase_entry(%x: tensor<f64>, %a: tensor<3xui8>, %k: tensor<ui32>,
    %z: tensor<complex<f64>>) -> (tensor<f64>, tensor<ui32>, tensor<complex<f64>>) {
  %1:4 = call @inner(%x, %a, %k, %z) : (tensor<f64>, tensor<3xui8>, tensor<ui32>,
    tensor<complex<f64>>) -> (tensor<f64>, tensor<ui32>, tensor<3xui8>, tensor<complex<f64>>)
  %2:4 = call @inner(%1#0, %1#2, %1#1, %1#3) : (tensor<f64>, tensor<3xui8>, tensor<ui32>,
    tensor<complex<f64>>) -> (tensor<f64>, tensor<ui32>, tensor<3xui8>, tensor<complex<f64>>)
  %3 = call @outside(%2#0) : (tensor<f64>) -> tensor<f64>
  return %3, %2#1, %2#3 : tensor<f64>, tensor<ui32>, tensor<complex<f64>>
}
"""


def converted(*passes: PythonPass) -> str:
    with session(DIALECTS):
        module = ir.Module.parse(MODULE)
        for step in passes:
            step(module)
            assert module.operation.verify()
        return str(module)


def test_inner_functions_take_and_give_scalars():
    text = converted(scalarize)
    inner = "(f64, tensor<3xi8>, i32, complex<f64>) -> (f64, i32, tensor<3xi8>, complex<f64>)"
    taken = "(%arg0: f64, %arg1: tensor<3xi8>, %arg2: i32, %arg3: complex<f64>)"
    assert f"@inner{taken}" in text
    assert text.count(f": {inner}") == 2
    assert "math.sin %arg0" in text


def test_others_keep_their_types():
    text = converted(scalarize)
    assert "@outside(tensor<f64>) -> tensor<f64>" in text
    assert "@diastase_entry(%arg0: tensor<f64>, %arg1: tensor<3xui8>, %arg2: tensor<ui32>" in text
    assert "call @outside(%" in text


def test_inner_functions_are_no_copies():
    """A call is what keeps a body from being compiled several times."""
    text = converted(scalarize, runtime_to_calls)
    inner = next(line for line in text.splitlines() if "func.func private @inner(" in line)
    assert "llvm.no_inline" in inner
    assert "#llvm.linkage<internal>" in inner
