// Few taps are an expression of their elements.
func.func @f(%a: tensor<8xf64>) -> tensor<7xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%a, %zero) ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %1 = stablehlo.add %x, %y : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) {window_dimensions = array<i64: 2>} : (tensor<8xf64>, tensor<f64>) -> tensor<7xf64>
  return %0 : tensor<7xf64>
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: tensor<8xf64>) -> tensor<7xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %extracted = tensor.extract %cst[] : tensor<f64>
    %0 = tensor.empty() : tensor<7xf64>
    %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%0 : tensor<7xf64>) {
    ^bb0(%out: f64):
      %2 = linalg.index 0 : index
      %c1 = arith.constant 1 : index
      %3 = arith.addi %2, %c1 : index
      %extracted_0 = tensor.extract %arg0[%2] : tensor<8xf64>
      %4 = arith.addf %extracted, %extracted_0 : f64
      %extracted_1 = tensor.extract %arg0[%3] : tensor<8xf64>
      %5 = arith.addf %4, %extracted_1 : f64
      linalg.yield %5 : f64
    } -> tensor<7xf64>
    return %1 : tensor<7xf64>
  }
}
