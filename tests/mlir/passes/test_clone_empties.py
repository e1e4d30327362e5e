"""`clone_empties`: no two uses of one array of undefined contents."""

from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.tensors.clone_empties import clone_empties

TWO_USES = b"""
func.func @f(%n: index, %x: f64) -> (tensor<?xf64>, tensor<?xf64>, tensor<?xf64>) {
  %0 = tensor.empty(%n) : tensor<?xf64>
  %1 = linalg.fill ins(%x : f64) outs(%0 : tensor<?xf64>) -> tensor<?xf64>
  %2 = linalg.fill ins(%x : f64) outs(%0 : tensor<?xf64>) -> tensor<?xf64>
  return %0, %1, %2 : tensor<?xf64>, tensor<?xf64>, tensor<?xf64>
}
"""


def test_each_use_has_its_own():
    with session():
        module = parse(TWO_USES)
        clone_empties(module)
        assert module.operation.verify()
        text = str(module)
    lines = text.splitlines()
    empties = [line.split()[0] for line in lines if "tensor.empty(%arg0)" in line]
    assert len(empties) == 3
    for empty in empties:
        (made,) = (number for number, line in enumerate(lines) if f"{empty} = " in line)
        (used,) = (
            number
            for number, line in enumerate(lines)
            if f"outs({empty} :" in line or f"return {empty}," in line
        )
        assert used == made + 1


IN_A_LOOP = b"""
func.func @f(%x: f64, %n: index) -> (tensor<2xf64>, tensor<2xf64>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = tensor.empty() : tensor<2xf64>
  %1 = linalg.fill ins(%x : f64) outs(%0 : tensor<2xf64>) -> tensor<2xf64>
  %2 = scf.for %i = %zero to %n step %one iter_args(%a = %1) -> tensor<2xf64> {
    %3 = linalg.fill ins(%x : f64) outs(%0 : tensor<2xf64>) -> tensor<2xf64>
    scf.yield %3 : tensor<2xf64>
  }
  return %1, %2 : tensor<2xf64>, tensor<2xf64>
}
"""


def test_what_a_loop_uses_stays_outside_of_it():
    with session():
        module = parse(IN_A_LOOP)
        clone_empties(module)
        assert module.operation.verify()
        text = str(module)
    before, inside = text.split("scf.for")
    assert before.count("tensor.empty") == 2
    assert "tensor.empty" not in inside.split("scf.yield")[0]
