func.func @f(%a: tensor<5xf64>, %x: tensor<f64>) -> tensor<7xf64> {
  %0 = stablehlo.pad %a, %x, low = [1], high = [1], interior = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<7xf64>
  return %0 : tensor<7xf64>
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: tensor<5xf64>, %arg1: tensor<f64>) -> tensor<7xf64> {
    %extracted = tensor.extract %arg1[] : tensor<f64>
    %0 = tensor.empty() : tensor<7xf64>
    %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%0 : tensor<7xf64>) {
    ^bb0(%out: f64):
      %2 = linalg.index 0 : index
      %c1 = arith.constant 1 : index
      %3 = arith.subi %2, %c1 : index
      %c0 = arith.constant 0 : index
      %4 = arith.cmpi sge, %3, %c0 : index
      %c5 = arith.constant 5 : index
      %5 = arith.cmpi slt, %3, %c5 : index
      %6 = arith.andi %4, %5 : i1
      %7 = scf.if %6 -> (f64) {
        %extracted_0 = tensor.extract %arg0[%3] : tensor<5xf64>
        scf.yield %extracted_0 : f64
      } else {
        scf.yield %extracted : f64
      }
      linalg.yield %7 : f64
    } -> tensor<7xf64>
    return %1 : tensor<7xf64>
  }
}
