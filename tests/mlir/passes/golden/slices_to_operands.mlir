// Differences of neighbours need no array of what they are differences of.
#row = affine_map<(i) -> (i)>
func.func @f(%x: tensor<9xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<9xf64>
  %0 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
    ins(%x : tensor<9xf64>) outs(%e : tensor<9xf64>) {
  ^bb0(%in: f64, %out: f64):
    %y = arith.addf %in, %in : f64
    linalg.yield %y : f64
  } -> tensor<9xf64>
  %1 = tensor.extract_slice %0[1] [8] [1] : tensor<9xf64> to tensor<8xf64>
  return %1 : tensor<8xf64>
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: tensor<9xf64>) -> tensor<8xf64> {
    %0 = tensor.empty() : tensor<9xf64>
    %extracted_slice = tensor.extract_slice %arg0[1] [8] [1] : tensor<9xf64> to tensor<8xf64>
    %1 = tensor.empty() : tensor<8xf64>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%extracted_slice : tensor<8xf64>) outs(%1 : tensor<8xf64>) {
    ^bb0(%in: f64, %out: f64):
      %3 = arith.addf %in, %in : f64
      linalg.yield %3 : f64
    } -> tensor<8xf64>
    return %2 : tensor<8xf64>
  }
}
