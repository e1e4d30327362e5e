"""`separate_empties`: no two uses of one array of undefined contents."""

from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.separate_empties import separate_empties

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
        separate_empties(module)
        assert module.operation.verify()
        text = str(module)
    assert text.count("tensor.empty(%arg0)") == 3
    for number in range(3):
        name = "%0" if not number else f"%{number}"
        assert text.count(f"outs({name} :") + text.count(f"return {name},") == 1
