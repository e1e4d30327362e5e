// What a loop carries is two numbers.
#row = affine_map<(i) -> (i)>
func.func @f(%a: tensor<2xf64>, %n: index) -> tensor<2xf64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %e = tensor.empty() : tensor<2xf64>
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %a) -> (tensor<2xf64>) {
    %0 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%x : tensor<2xf64>) outs(%e : tensor<2xf64>) {
    ^bb0(%in: f64, %out: f64):
      %y = arith.negf %in : f64
      linalg.yield %y : f64
    } -> tensor<2xf64>
    scf.yield %0 : tensor<2xf64>
  }
  return %r : tensor<2xf64>
}

// becomes
module {
  func.func @f(%arg0: tensor<2xf64>, %arg1: index) -> tensor<2xf64> {
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<2xf64>
    %extracted_0 = tensor.extract %arg0[%c1] : tensor<2xf64>
    %c0_1 = arith.constant 0 : index
    %c1_2 = arith.constant 1 : index
    %0 = tensor.empty() : tensor<2xf64>
    %1:2 = scf.for %arg2 = %c0_1 to %arg1 step %c1_2 iter_args(%arg3 = %extracted, %arg4 = %extracted_0) -> (f64, f64) {
      %from_elements_3 = tensor.from_elements %arg3, %arg4 : tensor<2xf64>
      %2 = arith.negf %arg3 : f64
      %3 = arith.negf %arg4 : f64
      %from_elements_4 = tensor.from_elements %2, %3 : tensor<2xf64>
      scf.yield %2, %3 : f64, f64
    }
    %from_elements = tensor.from_elements %1#0, %1#1 : tensor<2xf64>
    return %from_elements : tensor<2xf64>
  }
}
